"""Tables stay tables whatever their cells hold."""

from trimtab_tuner.markdown import markdown_table


def test_columns_are_set_right_where_asked_and_a_bar_ends_no_cell():
    """A path of somebody's access log may have one."""
    assert markdown_table(("share", "file"), [("10 %", "/a|b.html")], right=(0,)) == (
        "| share | file |\n| ---: | --- |\n| 10 % | /a\\|b.html |"
    )


def test_table_without_rows_has_its_heads():
    """Whoever leaves such a table out knows that it is empty."""
    assert markdown_table(("a", "b"), []) == "| a | b |\n| --- | --- |"
