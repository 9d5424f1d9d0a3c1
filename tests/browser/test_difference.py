"""What the details of a differential graph say: every figure by its name."""


def draw_difference(page, before, after, *arguments, form="svg"):
    page.flame("--no-comm", "--diff", page.make("before.folded", before), *arguments,
               page.make("after.folded", after), form=form)


def test_a_difference_is_said_in_every_way_people_ask_for(page):
    # the article's own figures: 36.7 % fewer cycles there, -11.59 % of all of after
    draw_difference(page, "main;pixelLogLikelihood 315804\nmain;other 800096\n",
                    "main;pixelLogLikelihood 199904\nmain;other 800096\n")
    page.hover("main;pixelLogLikelihood")
    assert page.tip_row("before")[0] == "315804", page.tip()
    assert page.tip_row("after")[0] == "199904", page.tip()
    assert page.tip_row("difference")[0] == "-115900", page.tip()
    assert page.tip_row("change against before")[0] == "-36.70 %", page.tip()
    assert page.tip_row("share of total before")[0] == "28.30 %", page.tip()
    assert page.tip_row("share of total after")[0] == "19.99 %", page.tip()
    assert page.tip_row("global: difference / total after")[0] == "-11.59 %", page.tip()


def test_half_is_minus_fifty_and_globally_minus_a_hundred(page):
    draw_difference(page, "main 200\n", "main 100\n")
    page.hover("main")
    assert page.tip_row("change against before")[0] == "-50.00 %", page.tip()
    assert page.tip_row("global: difference / total after")[0] == "-100.00 %", page.tip()
