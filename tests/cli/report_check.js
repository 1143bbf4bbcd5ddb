// SPDX-License-Identifier: MIT
// Put before a page of headrace report by test_report.sh. When the page is
// there, the element `checked` says what is wrong with it.
"use strict";
const wrong = [];
window.addEventListener("error", (e) => wrong.push(`error: ${e.message}`));
window.addEventListener("securitypolicyviolation",
                        (e) => wrong.push(`refused: ${e.blockedURI}`));
console.error = (...all) => wrong.push(`console: ${all.join(" ")}`);

// The part of a rectangle that the elements around it let one see.
function seen(box, element) {
  let { left, top, right, bottom } = box;
  for (let e = element; e; e = e.parentElement) {
    if (getComputedStyle(e).overflow !== "visible" && e !== document.body) {
      const b = e.getBoundingClientRect();
      left = Math.max(left, b.left);
      top = Math.max(top, b.top);
      right = Math.min(right, b.right);
      bottom = Math.min(bottom, b.bottom);
    }
  }
  return right - left > 1 && bottom - top > 1
    ? { left, top, right, bottom } : null;
}

// Boxes of all lines of text.
function textBoxes() {
  const boxes = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = nodes.currentNode;
    const style = getComputedStyle(node.parentElement);
    if (node.data.trim() === "" || style.display === "none" ||
        style.visibility === "hidden") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const part = seen(box, node.parentElement);
      if (part) boxes.push({ ...part, text: node.data.trim().slice(0, 40) });
    }
  }
  return boxes;
}

// Lines of one text may touch each other by a pixel or two.
function checkBoxes() {
  const boxes = textBoxes(), near = 2.5;
  boxes.forEach((a, i) => {
    if (a.left < -1 || a.right > window.innerWidth + 1) {
      wrong.push(`outside: ${a.text}`);
    }
    for (const b of boxes.slice(i + 1)) {
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > near &&
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > near) {
        wrong.push(`overlap: ${a.text} | ${b.text}`);
      }
    }
  });
  if (document.documentElement.scrollWidth > window.innerWidth + 1) {
    wrong.push(`wide: ${document.documentElement.scrollWidth}`);
  }
  return boxes.length;
}

// Whether something is drawn on the canvas, in more than two colours.
function isDrawn() {
  const canvas = document.getElementById("canvas");
  const data = canvas.getContext("2d")
    .getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) {
    colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  }
  return colours.size > 2;
}

// Every key and button does something, and none of it fails.
function checkKeys() {
  const canvas = document.getElementById("canvas");
  const press = (key) => canvas.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  canvas.focus();
  for (const key of ["+", "a", "d", "ArrowDown", "ArrowRight", "ArrowRight",
    "ArrowLeft", "ArrowUp", "Enter", "-", "0"]) press(key);
  if (document.getElementById("tip").hidden) wrong.push("no tip");
  press("Escape");
  if (!document.getElementById("tip").hidden) wrong.push("a tip");
  for (const id of ["in", "out", "left", "right", "all"]) {
    document.getElementById(id).click();
  }
  const box = canvas.getBoundingClientRect();
  for (const deltaY of [-120, 120]) {
    canvas.dispatchEvent(new WheelEvent("wheel", {
      deltaY, clientX: box.left + box.width / 2, clientY: box.top + 40,
      bubbles: true, cancelable: true,
    }));
  }
  const call = document.querySelector("#calls button");
  if (call) {
    call.click();
    if (document.getElementById("whole").hidden) wrong.push("not chosen");
    document.getElementById("whole").click();
  }
}

function check(tries) {
  const drawn = isDrawn();
  if (!drawn && tries > 0) {
    setTimeout(check, 100, tries - 1);
    return;
  }
  if (!drawn) wrong.push("nothing is drawn");
  const boxes = checkBoxes();
  const start = performance.now();
  checkKeys();
  const done = document.createElement("pre");
  done.id = "checked";
  done.textContent = wrong.length === 0
    ? `checked ${boxes} boxes` : wrong.slice(0, 20).join("\n");
  done.dataset.milliseconds = String(Math.round(performance.now() - start));
  document.body.append(done);
}
window.addEventListener("load", () => setTimeout(check, 100, 30));
