/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include <string.h>

#include "console/args.h"
#include "console/text.h"
#include "console/whole.h"

/* In pixels. A card is an accelerator. */
enum {
    MARGIN = 24,
    CARD_WIDTH = 330,
    CARD_HEIGHT = 124,
    GAP = 20,
    HEAD = 56, /* the host's name and memory */
    LINK = 190,
    HOST_WIDTH = CARD_WIDTH + 2 * GAP,
    RIGHT = MARGIN + HOST_WIDTH + LINK,
    WIDTH = RIGHT + CARD_WIDTH + MARGIN,
    LINE = 20,
    LONGEST = 40 /* characters of a name */
};

static const char style[] =
    "<style>\n"
    "svg{background:#fff;font:13px sans-serif}text{fill:#1a202c}\n"
    ".host{fill:#eef2f6;stroke:#cbd5e0}.card{fill:#fff;stroke:#a0aec0}\n"
    ".path{font-weight:bold;font-size:15px}.less{fill:#5a6778}\n"
    ".link{stroke:#2b6cb0}\n"
    "@media(prefers-color-scheme:dark){svg{background:#171b22}\n"
    "text{fill:#e2e8f0}.host{fill:#212833;stroke:#3d4859}\n"
    ".card{fill:#171b22;stroke:#566377}.less{fill:#9aa7b8}\n"
    ".link{stroke:#63a4e8}}\n"
    "</style>\n";

/* Write text, cut off where it is too long. */
static void put_text(FILE *out, const char *text)
{
    const cli_path shown = cli_path_text(text);
    int characters = 0;
    for (const char *c = shown.text; *c != '\0'; c++) {
        const bool begins = ((unsigned char)*c & 0xC0) != 0x80; /* of UTF-8 */
        characters += begins;
        if (characters > LONGEST) {
            fputs("...", out);
            return;
        }
        if (*c == '<' || *c == '>' || *c == '&') {
            fprintf(out, "&#%d;", *c);
        } else {
            putc(*c, out);
        }
    }
}

static void put_line(FILE *out, int x, int y, const char *kind,
                     const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, kind);
    put_text(out, text);
    fputs("</text>\n", out);
}

static void put_box(FILE *out, const char *kind, int x, int y, int width,
                    int height)
{
    fprintf(out,
            "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "rx=\"8\"/>\n",
            kind, x, y, width, height);
}

static void put_card(FILE *out, const hr_accelerator_info *info,
                     const hr_accelerator_rates *rates, int x, int y)
{
    char text[128];
    put_box(out, "card", x, y, CARD_WIDTH, CARD_HEIGHT);
    x += GAP - 4;
    put_line(out, x, y += 26, "path", info->path);
    put_line(out, x, y += LINE, "", info->name);
    put_line(out, x, y += LINE, "less", info->arithmetic);
    if (info->in_place) {
        snprintf(text, sizeof text, "works in the host's memory");
    } else {
        snprintf(text, sizeof text, "memory %s, at most %s used",
                 hri_bytes_text(info->memory_bytes).text,
                 hri_bytes_text(info->memory_limit).text);
    }
    put_line(out, x, y += LINE, "less", text);
    snprintf(text, sizeof text, "f32 %s, f64 %s",
             hri_rate_text(rates->f32).text, hri_rate_text(rates->f64).text);
    put_line(out, x, y + LINE, "", text);
}

/* The faster a link, the wider its line. */
static void put_link(FILE *out, const hr_accelerator_rates *rates,
                     double fastest, int y)
{
    const int from = MARGIN + HOST_WIDTH, middle = y + CARD_HEIGHT / 2;
    char text[128];
    fprintf(out,
            "<line class=\"link\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
            "stroke-width=\"%.1f\"/>\n",
            from, middle, from + LINK, middle,
            1.5 + (fastest > 0 ? 6.5 * rates->up / fastest : 0));
    snprintf(text, sizeof text, "up %s", hri_link_text(rates->up).text);
    put_line(out, from + GAP, middle - 12, "", text);
    snprintf(text, sizeof text, "down %s", hri_link_text(rates->down).text);
    put_line(out, from + GAP, middle + 24, "", text);
}

static int stack_height(int cards)
{
    return cards * (CARD_HEIGHT + GAP) - (cards > 0 ? GAP : 0);
}

static void put_picture(FILE *out, const hr_accelerator_info *infos,
                        const hr_accelerator_rates *rates, uint32_t count,
                        uint64_t host_bytes)
{
    int inside = 0;
    double fastest = 0;
    for (uint32_t i = 0; i < count; i++) {
        inside += infos[i].in_place;
        fastest = rates[i].up > fastest ? rates[i].up : fastest;
    }
    const int outside = (int)count - inside;
    const int host = HEAD + stack_height(inside) + (inside > 0 ? GAP : 0);
    const int right = stack_height(outside);
    const int height = host > right ? host : right;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "width=\"%d\" height=\"%d\" role=\"img\">\n"
            "<title>Accelerators of this machine</title>\n%s",
            WIDTH, height + 2 * MARGIN, WIDTH, height + 2 * MARGIN, style);
    put_box(out, "host", MARGIN, MARGIN, HOST_WIDTH, height);
    put_line(out, MARGIN + GAP, MARGIN + 26, "path", "host memory");
    put_line(out, MARGIN + GAP, MARGIN + 26 + LINE, "less",
             host_bytes > 0 ? hri_bytes_text(host_bytes).text : "");
    int left_y = MARGIN + HEAD, right_y = MARGIN;
    for (uint32_t i = 0; i < count; i++) {
        if (infos[i].in_place) {
            put_card(out, &infos[i], &rates[i], MARGIN + GAP, left_y);
            left_y += CARD_HEIGHT + GAP;
        } else {
            put_link(out, &rates[i], fastest, right_y);
            put_card(out, &infos[i], &rates[i], RIGHT, right_y);
            right_y += CARD_HEIGHT + GAP;
        }
    }
    fputs("</svg>\n", out);
}

int cli_picture_write(const char *path, const hr_accelerator_info *infos,
                      const hr_accelerator_rates *rates, uint32_t count,
                      uint64_t host_bytes)
{
    cli_whole whole = {.path = path};
    int status = cli_whole_create(&whole, path);
    if (status == CLI_OK) {
        put_picture(whole.out, infos, rates, count, host_bytes);
        status = cli_whole_commit(&whole);
    }
    cli_whole_close(&whole);
    return status;
}
