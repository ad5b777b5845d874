"""What stands inside the files of the documentation becomes files, so that the daemon's policy allows it."""

import subprocess
import sys
from pathlib import Path

import pytest

MENDER = Path(__file__).resolve().parents[1] / "self_contained.py"


@pytest.fixture
def site(tmp_path):
    """A site of two pages and a style, mended."""
    (tmp_path / "deep" / "page").mkdir(parents=True)
    page = '<script>greet("hello")</script><script src="x.js"></script>'
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "deep" / "page" / "index.html").write_text(page)
    (tmp_path / "404.html").write_text(page)
    (tmp_path / "style.css").write_text(
        "a{mask:url(\"data:image/svg+xml;charset=utf-8,<svg fill='%23fff' d='m(1)'/>\")}b{}"
    )
    bundle(tmp_path).write_text('let o=root();o.appendChild(C("style",{},Tc.toString()));go()')
    mend(tmp_path)
    return tmp_path


def bundle(site):
    """The script of a site; its folder is made."""
    folder = site / "assets" / "javascripts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "bundle.1a2b.min.js"


def mend(site):
    """Runs the program; raises CalledProcessError."""
    subprocess.run([sys.executable, MENDER, site], check=True, timeout=120, capture_output=True, text=True)


def test_inline_script_is_a_file_that_every_page_reaches(site):
    """Scripts that were files already stay as they are."""
    (script,) = (site / "assets" / "inline").glob("*.js")
    assert script.read_text() == 'greet("hello")'
    own = f'assets/inline/{script.name}"></script><script src="x.js"></script>'
    assert (site / "index.html").read_text() == f'<script src="{own}'
    assert (site / "deep" / "page" / "index.html").read_text() == f'<script src="../../{own}'


def test_image_in_a_style_is_a_file(site):
    """Decoded, as it is no part of an address any more."""
    (image,) = (site / "assets" / "inline").glob("*.svg")
    assert image.read_text() == "<svg fill='#fff' d='m(1)'/>"
    assert (site / "style.css").read_text() == f'a{{mask:url("assets/inline/{image.name}")}}b{{}}'


def test_style_of_the_search_is_no_text_in_the_page(site):
    """What stands round it stays."""
    adopted = "(s=>{s.replaceSync(Tc.toString());o.adoptedStyleSheets=[s]})(new CSSStyleSheet)"
    assert bundle(site).read_text() == f"let o=root();{adopted};go()"


def test_generator_that_writes_its_style_otherwise_is_noticed(tmp_path):
    """A newer one would lose the look of its search without a word."""
    bundle(tmp_path).write_text("go()")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        mend(tmp_path)
    assert "expected one style that the search writes, found 0" in failure.value.stderr


def test_page_for_missing_addresses_is_gone(site):
    """The daemon answers those itself."""
    assert not (site / "404.html").exists()
