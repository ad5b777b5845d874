"""`trimtab-load merge`: results of several generators become one, exactly."""

import json

import pytest

SUMMED = ("requests", "sessions", "tls")
PERCENTILES = ("connect", "handshake", "first_byte", "reply")


def always_replies(connection):
    """As many bytes as the target says."""
    while True:
        connection.reply(int(connection.read_request().target.strip("/")))


def without_reasons(result):
    """The result without why it was generator-limited, if a busy machine made it so: they name files."""
    return result | {"health": {**result["health"], "reasons": []}}


@pytest.fixture
def two_results(load, serve, write_log, tmp_path):
    """The results of two runs, and the files that hold them."""
    server = serve(always_replies)
    results, files = [], []
    for number, sizes in enumerate(((10, 2000), (10, 70_000))):
        log = write_log("".join(f"/{size} size={size}\n" for size in sizes) + "/5 size=6\n")
        outcome = load(server.url, "--sessions", log, "--rate", "60", "--duration", "0.5", "--timeout", "30")
        results.append(outcome.result)
        files.append(tmp_path / f"result{number}.jsonl")
        files[-1].write_text(outcome.stdout)
    return results, files


def test_result_merged_with_nothing_is_itself(merge, two_results):
    """Reading and writing lose nothing: counts, latencies and histograms are the same."""
    [result, _], [file, _] = two_results
    merged = merge(file).result
    assert without_reasons(result) == without_reasons(merged)


def test_counts_histograms_and_rates_add_up(merge, two_results):
    """Every count is the sum; percentiles are those of all values together."""
    (one, other), files = two_results
    merged = merge(*files).result
    for group in SUMMED:
        assert {name: one[group][name] + other[group][name] for name in one[group]} == merged[group]
    assert merged["rate_rps"] == 120
    assert merged["processes"] == 2
    assert merged["health"]["most_open"] == sum(each["health"]["most_open"] for each in (one, other)) > 0
    assert merged["failures"] == {"wrong-length": one["requests"]["failed"] + other["requests"]["failed"]}
    assert [c["size_bytes"] for c in merged["size_classes"]] == [6, 10, 2000, 70_000]
    for name in PERCENTILES:
        counts = {}
        for value, count in one["histograms"][name] + other["histograms"][name]:
            counts[value] = counts.get(value, 0) + count
        assert sorted(counts.items()) == [tuple(bucket) for bucket in merged["histograms"][name]]
        latency = merged["latency_us"][name]
        assert latency["count"] == sum(counts.values())
        assert latency["sum"] == one["latency_us"][name]["sum"] + other["latency_us"][name]["sum"]
        assert latency["max"] == max(one["latency_us"][name]["max"], other["latency_us"][name]["max"])
    window = merged["window"]
    for name in ("bytes", "replies", "due"):
        assert window[name] == one["window"][name] + other["window"][name]
    assert merged["goodput_mbps"] == pytest.approx(window["bytes"] * 8 / 1e6 / window["seconds"])


def test_merging_merged_results_gives_the_same(merge, two_results, tmp_path):
    """Any grouping gives the same sum."""
    _, files = two_results
    three = merge(files[0], files[1], files[0]).result
    pair = merge(files[1], files[0]).result
    (tmp_path / "pair").write_text(json.dumps(pair))
    again = merge(files[0], tmp_path / "pair").result
    assert without_reasons(three) == without_reasons(again)


def test_generator_limited_part_limits_the_whole(merge, two_results, tmp_path):
    """And the reason names the file."""
    (one, _), files = two_results
    one["health"] |= {"verdict": "generator-limited", "reasons": ["It was tired."]}
    (tmp_path / "tired").write_text(json.dumps(one))
    merged = merge(tmp_path / "tired", files[1]).result
    assert merged["health"]["verdict"] == "generator-limited"
    assert f"{tmp_path}/tired was generator-limited: It was tired." in merged["health"]["reasons"]


def test_results_of_different_loads_are_refused(merge, two_results, load, serve, tmp_path):
    """Rates of different windows do not add up."""
    _, files = two_results
    outcome = load(serve(always_replies).url + "/1", "--rate", "10", "--duration", "0.2")
    (tmp_path / "other").write_text(outcome.stdout)
    complaint = merge(files[0], tmp_path / "other", expect_status=2).stderr
    assert "its duration_s is another one" in complaint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "holds no result"),
        ("hello\n", "holds no result"),
        ('{"type": "result", "version": 1}', 'member "mode" is missing'),
        ('{"type": "result", "version": 9}', "missing or not as expected"),
        ('{"type": "result", "version": 1, "requests": {"offered": -1}}', "missing or not as expected"),
    ],
)
def test_file_without_a_result_is_refused_by_name(merge, tmp_path, text, expected):
    """One sentence."""
    (tmp_path / "file").write_text(text)
    complaint = merge(tmp_path / "file", expect_status=2).stderr
    assert complaint.startswith(f"trimtab-load: {tmp_path}/file: ")
    assert expected in complaint
    assert complaint.count("\n") == 1


def test_counts_that_do_not_add_up_are_refused(merge, two_results, tmp_path):
    """A damaged result is no result."""
    (one, _), _ = two_results
    one["requests"]["replied"] += 1
    (tmp_path / "file").write_text(json.dumps(one))
    complaint = merge(tmp_path / "file", expect_status=2).stderr
    assert "do not add up" in complaint


def test_merge_without_files_is_refused(merge):
    """It says what is missing."""
    complaint = merge(expect_status=2).stderr
    assert "expected the names of files" in complaint
