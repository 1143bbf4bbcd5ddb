# SPDX-License-Identifier: MIT
"""Chromium loads pages of the site as wide as a desk and as a phone. None is
wider than its window, each picture is there, the search finds something, and
the console has no errors. Usage: look.py CHROMIUM FOLDER [PICTURES]
With PICTURES, a folder, it keeps pictures of what it saw there."""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SIZES = (1280, 1000), (390, 844)
PAGES = ["index.html", "docs/gallery.html", "docs/performance.html",
         "docs/first-product.html", "docs/kernels.html",
         "reference/c/gemm.html", "reference/c/dialect.html",
         "reference/python.html"]
SEARCH = "search.html?q=reproducible"
MEASURE = """(async () => {
    for (const image of document.images) { /* also those out of view */
        image.loading = "eager";
        await image.decode().catch(() => 0);
    }
    const found = () => document.querySelectorAll("#search-results li").length;
    while (SEARCHED && !found()) {
        await new Promise(done => setTimeout(done, 100));
    }
    return [document.documentElement.scrollWidth, document.images.length,
            [...document.images].filter(i => !i.naturalWidth).length, found()];
})()"""


class Browser:
    """Chromium's protocol over two pipes: messages of JSON that end with 0."""

    def __init__(self, chromium, profile):
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # the shell gives the pipes the numbers that Chromium expects
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh",
             chromium, "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._bytes, self._number, self.events = b"", 0, []
        self.started = False
        self._session = {}
        self.call("Browser.getVersion")
        self.started = True
        target = self.call("Target.createTarget", url="about:blank")
        attached = self.call("Target.attachToTarget", flatten=True,
                             targetId=target["targetId"])
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _receive(self):
        while b"\0" not in self._bytes:
            some = os.read(self._in, 1 << 16)
            if not some and not self.started:
                print("skip: chromium does not start here, so the pages were "
                      "not looked at")
                sys.exit(77)
            if not some:
                sys.exit("look: chromium ended")
            self._bytes += some
        message, self._bytes = self._bytes.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters,
                   **self._session}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                sys.exit(f"look: {method}: {answer['error']}")
            else:
                return answer["result"]

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self._receive())

    def close(self):
        os.close(self._out)
        self._process.terminate()
        self._process.wait()


def said(events):
    """What the page wrote to the console, but for plain words."""
    for event in events:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            yield details.get("exception", {}).get("description",
                                                   details["text"])
        elif event.get("method") == "Log.entryAdded":
            entry = parameters["entry"]
            if entry["level"] == "error":
                yield f"{entry['text']} {entry.get('url', '')}"
        elif event.get("method") == "Runtime.consoleAPICalled":
            if parameters["type"] in ("error", "assert"):
                yield str(parameters["args"])


def look(browser, url, size, search, picture):
    """What is wrong with a page in a window."""
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=size[0],
                 height=size[1], deviceScaleFactor=1, mobile=size[0] < 500)
    failed = browser.call("Page.navigate", url=url).get("errorText")
    if failed:
        yield f"not loaded: {failed}"
        return
    browser.wait("Page.loadEventFired")
    result = browser.call(
        "Runtime.evaluate", awaitPromise=True, returnByValue=True,
        expression=MEASURE.replace("SEARCHED", str(int(search))))
    wide, images, broken, found = result["result"]["value"]
    if picture:
        data = browser.call("Page.captureScreenshot")["data"]
        picture.write_bytes(base64.b64decode(data))
    if wide > size[0]:
        yield f"{wide} pixels wide in a window of {size[0]}"
    if broken > 0 or (url.endswith("gallery.html") and images < 6):
        yield f"{broken} of {images} pictures are missing"
    if search and not found:
        yield "nothing is found"
    yield from (f"the console says: {line}" for line in said(browser.events))


def main():
    chromium, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    bad = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(chromium, profile)
        for page in [*PAGES, SEARCH]:
            for size in SIZES:
                path, _, query = page.partition("?")
                url = (root / path).as_uri() + (f"?{query}" if query else "")
                name = f"{path.replace('/', '-')}-{size[0]}.png"
                for line in look(browser, url, size, bool(query),
                                 pictures and pictures / name):
                    print(f"{page} at {size[0]}: {line}")
                    bad += 1
        browser.close()
    print(f"looked at {len(PAGES) + 1} pages, {len(SIZES)} widths each: {bad} "
          "findings")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
