"""Zoom, links, keys, and how the picture is turned and coloured."""

from selenium.webdriver.common.keys import Keys

STACKS = """main;parse;scan 300
main;parse;hash 200
main;parse;scan;next 100
main;read_all;vfs_read;copy_user 400
main;walk;walk;walk 100
main;walk 20
start;once 5
"""
READ = "main;read_all;vfs_read"


def near(a, b, pixels=1.5):
    assert abs(a - b) <= pixels, f"{a} is not near {b}"


def draw(page, *arguments, link="", form="svg"):
    page.flame("--no-comm", *arguments, page.make("stacks.folded", STACKS), link=link, form=form)


def fills_the_view(page, path):
    left, _, right, _ = page.place(path)
    view = page.view()
    near(left, view[0])
    near(right, view[2])


def test_a_click_zooms_to_the_frame(page):
    draw(page)
    page.click("main;parse")
    fills_the_view(page, "main;parse")


def test_what_is_below_a_zoomed_frame_keeps_its_share(page):
    draw(page)
    page.click("main;parse")
    left, _, right, _ = page.place("main;parse;hash")
    view = page.view()
    near((right - left) / (view[2] - view[0]), 200 / 600, 0.003)


def test_the_button_shows_the_whole_graph_again(page):
    draw(page)
    page.click("main;parse")
    page.button("Reset zoom")
    fills_the_view(page, "")
    assert page.link() in ("", "#")


def test_enter_presses_the_button_that_the_keyboard_is_on(page):
    for form in ("svg", "html"):
        draw(page, form=form)
        page.click("main;parse")
        page.js("document.querySelector('.bar button').focus()")
        page.press(Keys.ENTER)
        fills_the_view(page, "")


def test_a_click_on_a_callers_frame_zooms_out_to_it(page):
    draw(page)
    page.click("main;parse;scan")
    page.click("main")
    fills_the_view(page, "main")


def test_labels_fit_their_frames(page):
    draw(page)
    page.click("main;read_all")
    wide = page.js("""const frames = new Map();
        for (const rect of document.querySelectorAll('#frames rect'))
            frames.set(rect.getAttribute('data-i'), rect.getBoundingClientRect());
        const out = [];
        for (const label of document.querySelectorAll('#labels text')) {
            const text = label.getBoundingClientRect(), frame = frames.get(label.getAttribute('data-i'));
            if (text.right > frame.right + 0.5 || text.top < frame.top - 1 || text.bottom > frame.bottom + 1.5)
                out.push(label.textContent);
        }
        return out""")
    assert wide == [], wide


def test_a_label_is_cut_with_an_ellipsis(page):
    name = "a_very_long_name_" * 20
    page.flame("--no-comm", page.make("long.folded", f"main;{name} 10\nmain;b 90\n"))
    labels = page.js("return Array.from(document.querySelectorAll('#labels text'), t => t.textContent)")
    assert any(label.startswith("a_very") and label.endswith("\u2026") for label in labels), labels


def test_a_zoom_can_be_linked_to(page):
    draw(page)
    page.click(READ)
    link = page.link()
    assert link == "#frame=main;read_all;vfs_read", link
    draw(page, link=link)
    fills_the_view(page, READ)


def test_a_link_finds_names_with_any_letters(page):
    name = "operator<< (a%b; ~c#d&e=\u00e9)"
    folded = page.make("odd.folded", f"main;{name.replace(';', ',')};leaf 10\nmain;b 90\n")
    path = f"main;{name.replace(';', ',')}"
    page.flame("--no-comm", folded)
    page.click(path)
    link = page.link()
    page.flame("--no-comm", folded, link=link)
    fills_the_view(page, path)


def test_a_link_to_a_frame_that_is_not_there_says_so(page):
    draw(page, link="#frame=main;nowhere")
    assert page.text("#details") == "not in this graph: main;nowhere", page.text("#details")


def test_back_and_forward_follow_the_zooms(page):
    draw(page)
    page.click("main")
    page.click("main;parse")
    page.browser.back()
    page.until(lambda: page.link() == "#frame=main", "the first zoom")
    fills_the_view(page, "main")
    page.browser.back()
    page.until(lambda: page.link() == "", "the whole graph")
    fills_the_view(page, "")
    page.browser.forward()
    page.until(lambda: page.link() == "#frame=main", "the first zoom again")
    fills_the_view(page, "main")


def test_arrows_and_enter_zoom_without_a_pointer(page):
    draw(page)
    page.press(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)  # all, its widest child main, parse
    assert page.text("#details").startswith("parse"), page.text("#details")
    page.press(Keys.ARROW_RIGHT)
    assert page.text("#details").startswith("read_all"), page.text("#details")
    page.press(Keys.ENTER)
    fills_the_view(page, "main;read_all")


def test_the_keyboard_s_frame_has_a_ring(page):
    draw(page)
    page.press(Keys.ARROW_UP, Keys.ARROW_UP)
    ring = page.js("const b = document.querySelector('.ring').getBBox(); return [b.width, b.height]")
    assert ring[0] > 1000 and ring[1] > 10, ring


def test_escape_shows_the_whole_graph_again(page):
    draw(page)
    page.click("main;parse")
    page.press(Keys.ESCAPE)
    fills_the_view(page, "")


def test_the_graph_can_hang_from_its_root(page):
    draw(page)
    assert page.place("main")[1] < page.place("")[1]
    page.press("i")
    assert page.place("main")[1] > page.place("")[1]
    near(page.place("")[1], page.view()[1], 2)


def test_a_turned_graph_says_what_is_under_the_pointer(page):
    draw(page)
    page.press("i")
    page.hover("main;read_all")
    assert page.tip()[0] == ["read_all"], page.tip()


def test_an_icicle_can_be_drawn_from_the_start(page):
    draw(page, "--icicle")
    assert page.place("main")[1] > page.place("")[1]
    page.press("i")
    assert page.place("main")[1] < page.place("")[1]


def ground(page):
    return page.js("return getComputedStyle(document.getElementById('background')).fill")


def test_d_changes_to_dark_and_back(page):
    draw(page)
    light = ground(page)
    page.press("d")
    dark = ground(page)
    page.press("d")
    assert (light, dark, ground(page)) == ("rgb(255, 255, 255)", "rgb(22, 24, 27)", light), (light, dark)


def test_a_dark_system_gets_a_dark_graph(page):
    page.emulate(color_scheme="dark")
    draw(page)
    assert ground(page) == "rgb(22, 24, 27)"
    page.press("d")
    assert ground(page) == "rgb(255, 255, 255)"


def test_a_page_can_do_the_same_as_a_picture(page):
    draw(page, form="html")
    page.click("main;parse")
    fills_the_view(page, "main;parse")
    page.search("scan")
    assert page.text("#matched").startswith("Matched: 35.56 %"), page.text("#matched")


def test_nothing_is_loaded_from_elsewhere(page):
    for form in ("svg", "html"):
        draw(page, form=form)
        loaded = page.js("return performance.getEntriesByType('resource').map(e => e.name)")
        assert loaded == [], loaded


def test_the_window_s_width_is_used(page):
    page.window(1700, 900)
    draw(page)
    view = page.view()
    assert view[2] - view[0] > 1600, view
    fills_the_view(page, "")


def test_question_mark_lists_the_keys(page):
    draw(page)
    page.press("?")
    assert "next and previous match" in page.text(".help")
    page.press("?")
    assert page.js("return document.querySelector('.help')") is None
