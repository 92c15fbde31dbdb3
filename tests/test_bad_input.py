"""Whatever is wrong with the input: one message with file, line and remedy, and nothing written."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.projects import CONFIG, invoke, shell, sweeps, write_project

Spoil = Callable[[Path], None]


def replaced(name: str, old: str, new: str) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")

    return spoil


def filled(name: str, data: bytes) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return spoil


def removed(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


def made_a_folder(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return spoil


def in_config(old: str, new: str) -> Spoil:
    return replaced("sweep.yaml", old, new)


CASES: dict[str, tuple[Spoil, str]] = {
    "missing config": (removed("sweep.yaml"), r"sweep.yaml: there is no such file\. Check"),
    "missing golden set": (removed("golden.jsonl"), r"golden.jsonl: there is no such file\. "),
    "missing corpus": (removed("corpus.jsonl"), r"corpus.jsonl: there is no such file\. "),
    "folder for a config": (made_a_folder("sweep.yaml"), r"sweep.yaml: is a folder\. Give a file"),
    "folder for a golden set": (made_a_folder("golden.jsonl"), r"golden.jsonl: is a folder\. Give"),
    "empty config": (filled("sweep.yaml", b""), r"sweep.yaml: is empty\. Give"),
    "empty golden set": (filled("golden.jsonl", b"\n \n"), r"golden.jsonl: is empty\. Give"),
    "empty corpus": (filled("corpus.jsonl", b""), r"corpus.jsonl: is empty\. Give"),
    "golden set of comments": (filled("golden.jsonl", b"# none\n"), r"golden.jsonl.*Give"),
    "broken YAML": (in_config("space:", "space: ["), r"sweep.yaml:\d+: is not valid YAML: "),
    "broken JSON": (
        replaced("golden.jsonl", '"q2"', '"q2'),
        r"golden.jsonl:2: .*",
    ),
    "config of rows": (filled("sweep.yaml", b"- 1\n"), r"sweep.yaml: must be a mapping"),
    "wrong type of a number": (
        in_config("[1, 20]", "[1, x]"),
        r"sweep.yaml:8: space.rrf_k.1: must",
    ),
    "wrong type of a list": (
        in_config("[recall@1, mrr, abstention]", "3"),
        r"sweep.yaml:11: metrics: must be a list",
    ),
    "unknown key": (
        in_config("limit:", "limt:"),
        r"sweep.yaml:5: limt: unknown key\. Did you mean",
    ),
    "unknown knob": (in_config("rrf_k: [1", "rrfk: [1"), r'sweep.yaml:8: .*Did you mean "rrf_k"'),
    "unknown metric": (in_config("[recall@1, mrr", "[recal@1, mrr"), r"sweep.yaml:11: metrics.0: "),
    "NaN": (
        in_config("[none, 0.1", "[none, .nan"),
        r"sweep.yaml:9: space.min_similarity.1: must be",
    ),
    "infinity": (in_config("7, 30.5", "7, .inf"), r"sweep.yaml:10: .*must be a finite number"),
    "negative half-life": (
        in_config("7, 30.5", "7, -3"),
        r"sweep.yaml:10: .*at least 0.*got -3\. ",
    ),
    "rrf_k of 0": (in_config("[1, 20]", "[0, 20]"), r"sweep.yaml:8: .*at least 1, got 0\. Leave"),
    "a limit of 0": (in_config("limit: 4", "limit: 0"), r"sweep.yaml:5: limit: must be an integer"),
    "twice the same key": (in_config("limit: 4", "limit: 4\nlimit: 5"), r"sweep.yaml:6: .*limit"),
    "a constraint that is none": (
        in_config(">= current", "> = nah"),
        r"sweep.yaml:13: constraints.0: ",
    ),
    "duplicate question": (replaced("golden.jsonl", '"q2"', '"q1"'), r"golden.jsonl:2: .*q1.*"),
    "duplicate entry": (
        replaced("corpus.jsonl", '"doc-keys"', '"doc-rent"'),
        r"corpus.jsonl:2: .*doc-rent.*",
    ),
    "an expected id that the corpus lacks": (
        replaced("golden.jsonl", '["doc-keys"]', '["doc-kees"]'),
        r"golden.jsonl:2: .*doc-kees.*(\n|.)*",
    ),
    "an infinite age": (replaced("corpus.jsonl", "400", "Infinity"), r"corpus.jsonl:5: .*"),
    "a question without text": (
        replaced("golden.jsonl", '"where are the keys"', '""'),
        r"golden.jsonl:2: .*",
    ),
    "a plot of a slice that is not there": (
        in_config("metrics:", "plots: [{x: freshh.mrr, y: entity.mrr}]\nmetrics:"),
        r'sweep.yaml:11: plots.0.x: the golden set has no slice "freshh"\. Did you mean "fresh"\?',
    ),
    "an objective of a slice that is not there": (
        in_config("fresh.mrr", "fersh.mrr"),
        r'sweep.yaml:12: .*no slice "fersh"\. Did you mean "fresh"\?',
    ),
    "binary rubbish": (filled("golden.jsonl", b"\x00\x01\xff\xfe" * 99), r"golden.jsonl.*binary"),
    "a Parquet file": (
        filled("corpus.jsonl", b"PAR1\x15\x00"),
        r"corpus.jsonl.*Parquet.*export it",
    ),
    "another encoding": (
        filled("golden.jsonl", b'{"query": "caf\xe9"}'),
        r"golden.jsonl:1: .*UTF-8",
    ),
    "a line of 100 MB": (
        filled("golden.jsonl", b"x" * 100_000_000),
        r"golden.jsonl:1: a line of 100 MB or more\. Put one row on each line",
    ),
    "too many combinations": (
        in_config("[1, 20]", str(list(range(1, 120_000)))),
        r"sweep.yaml:7: space: 1079991 combinations are more than 1000000 .*Try fewer",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_message_names_file_and_remedy_and_nothing_is_written(
    tmp_path: Path, case: str
) -> None:
    import re

    config = write_project(tmp_path)
    spoil, message = CASES[case]
    spoil(tmp_path)
    done = invoke("run", config, "--results", tmp_path / "results")
    assert done.exit_code == 2, done
    assert done.stdout == ""
    assert re.search(f"{re.escape(str(tmp_path))}/{message}", done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 3000
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("golden.csv", b"id,query,expected\n1,a\n", r"golden.csv:2: "),
        ("golden.csv", b'id,query,expected\n1,"a,b\n', r"golden.csv:2: "),
        ("golden.json", b'[{"query": "a", "expected": "doc-rent"},]', r"golden.json:1: "),
        ("golden.yaml", b"- {query: a, expected: [doc-rent}\n", r"golden.yaml:1: "),
        ("golden.jsonl", b'{"q1": 3, "z": 4}\n', r"golden.jsonl.*"),
    ],
)
def test_golden_sets_of_other_formats_are_refused_by_line(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    import re

    config = write_project(tmp_path, CONFIG.replace("golden.jsonl", name))
    (tmp_path / name).write_bytes(data)
    done = invoke("run", config, "--results", tmp_path / "results")
    assert done.exit_code == 2
    assert re.search(message, done.stderr), done.stderr
    assert not (tmp_path / "results").exists()


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    text = CONFIG.replace("limit: 4", "limit: 0").replace("[1, 20]", "[0]").replace("7,", "-7,")
    done = invoke("run", write_project(tmp_path, text))
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == ["5", "8", "10"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("limit", r'--set "limit": write key=value'),
        ("=3", r'--set "=3": write key=value'),
        ("space..rrf_k=3", r"write key=value"),
        ("limit=[", r"--set limit:.* is not valid YAML"),
        ("limit=0", r"limit: must be .* \(It was given by --set\.\)"),
        ("golden.path=x", r"golden is not a mapping"),
        ("nonsense=1", r"nonsense: unknown key"),
        ("name=../../etc", r"name: may hold letters, digits"),
        ("space=3", r"space"),
    ],
)
def test_overrides_that_make_no_sense_are_refused(
    tmp_path: Path, override: str, message: str
) -> None:
    import re

    config = write_project(tmp_path)
    done = invoke("run", config, "--results", tmp_path / "results", "--set", override)
    assert done.exit_code == 2
    assert re.search(message, done.stderr), done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("results", ["file", "/dev/null", "/proc/nowhere"])
def test_a_results_folder_that_cannot_be_is_refused(tmp_path: Path, results: str) -> None:
    config = write_project(tmp_path)
    (tmp_path / "file").touch()
    done = invoke("run", config, "--results", tmp_path / results)
    assert done.exit_code == 2, done
    assert "cannot be written" in done.stderr
    assert "Choose another --results folder" in done.stderr


def test_a_results_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(self: Path, *arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    config = write_project(tmp_path)
    monkeypatch.setattr(Path, "mkdir", forbidden)
    done = invoke("run", config, "--results", tmp_path / "results")
    assert done.exit_code == 2
    assert "cannot be written (permission denied). Choose another --results" in done.stderr


LIMITED = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, {resource.RLIM_INFINITY}))
from sweeper.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 200, 3_000, 12_000, 40_000])
def test_a_full_disk_ends_with_4_and_the_same_command_goes_on(tmp_path: Path, size: int) -> None:
    config = write_project(tmp_path)
    arguments = ("run", config, "--results", tmp_path / "results")
    process = shell(*arguments, code=LIMITED.replace("MOST_BYTES", str(size)))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4, said
    assert "the disk is full. Free some space" in said
    assert "Traceback" not in said
    assert not list((tmp_path / "results").rglob("*.tmp"))
    assert invoke(*arguments, "--no-plots").exit_code == 0
    assert len(sweeps(tmp_path / "results")) == 1


# --- what lies on disk, and texts that become paths -----------------------------------------------

UNUSABLE = {
    "too long a name": "n" * 300,
    "too long a path": "x/" * 2500 + "y",
    "through a file": "file/x",
    "NUL": "nul\0x",
    "a link to itself": "loop/x",
}
ODD = {
    "bytes that are no text": "\udcff\udc80/x",
    "nothing": "",
    "nobody's home": "~nobody-of-that-name/x",
}
"""Some commands can write there, or have a default."""

TAKES_A_PATH = (
    *(["show", "@"], ["list", "--results", "@"], ["report", "@"], ["check", "@"], ["verify", "@"]),
    *(["explain", "@", "q1"], ["compare", "small#0", "@"], ["compare", "@.json", "small#0"]),
    *(["run", "@"], ["gate", "@"], ["gate", "sweep.yaml", "--baseline", "@"]),
    *(["run", "sweep.yaml", "--set", f"{key}=@"] for key in ("golden", "engine.corpus", "name")),
    *(["plot", "small", "--out", "@"], ["report", "small", "--out", "@/page.html"]),
    *(["export", "small", "--out", "@/file"], ["import", "soat", "@"], ["import", "trec", "@"]),
    ["gate", "sweep.yaml", "--baseline", "baseline.json", "--pool", "@"],
    ["init", "@/new"],
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    done = invoke("run", write_project(folder), "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0
    (folder / "file").write_text("x", "utf-8")
    (folder / "loop").symlink_to(folder / "loop")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("text", [*UNUSABLE.values(), *ODD.values()], ids=[*UNUSABLE, *ODD])
def test_a_text_that_can_be_no_path_is_never_a_traceback(
    swept: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(swept)
    for command in TAKES_A_PATH:
        arguments = [part.replace("@", text) for part in command]
        if text or command[-1] == "@":  # else it is another path, which may be a good one
            done = invoke(*arguments)
            assert done.exit_code == 2 or text in ODD.values() or command[0] == "list", command
            assert done.exit_code in {0, 2}, (command, done)
            assert done.exit_code == 0 or done.stderr, command


def test_a_name_that_is_too_long_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "n" * 300
    for command in (["init", name], ["init", name, "--force"], ["show", name], ["check", name]):
        done = invoke(*command)
        assert (done.exit_code, done.stdout) == (2, "")
        assert name in done.stderr
        assert "this name is too long for the file system. Choose a shorter one." in done.stderr


READS_A_SWEEP = (
    *(["show", "small"], ["pick", "small"], ["compare", "small#0", "small#1"], ["list"]),
    *(["explain", "small", "q1"], ["curve", "small"], ["export", "small"]),
)
"""The report reads the same keys, and takes longer."""


@pytest.fixture
def copied(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a finished sweep; its folder."""
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    [folder] = sweeps(tmp_path / "results")
    return folder


KEYS = (
    *("name", "id", "config_path", "started", "spec", "spec_hash", "golden", "corpus", "metrics"),
    *("objectives", "constraints", "versions", "git_commit", "table", "plots", "arms", "n_trials"),
    *("pool", "pools", "status", "files", "version", "checks"),
)


def test_every_key_of_a_manifest_is_damaged_below(swept: Path) -> None:
    [folder] = sweeps(swept / "results")
    whole = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert set(whole) - {"finished", "n_processes"} == set(KEYS)


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("key", KEYS)
def test_a_damaged_manifest_is_one_message_and_the_same_run_mends_it(
    copied: Path, key: str, older: bool
) -> None:
    path = copied / "manifest.json"
    whole = json.loads(path.read_text("utf-8"))
    shown = invoke("show", "small").stdout
    if older:
        del whole["checks"]
    expected = {tuple(command): invoke(*command).stdout for command in READS_A_SWEEP}
    for damage in (None, 1e308, {"x": None}):
        path.write_text(json.dumps({**whole, key: damage}), "utf-8")
        for command in READS_A_SWEEP:
            done = invoke(*command)
            assert done.exit_code in {0, 2}, (damage, command, done)
            if done.exit_code:
                assert "Run the sweep again" in done.stderr or older, (damage, command, done)
            elif command[0] != "list" and not older:
                assert done.stdout == expected[tuple(command)], (damage, command)
    assert invoke("run", "sweep.yaml", "--no-plots", "-q").exit_code == 0
    if not older:
        assert invoke("show", "small").stdout == shown
        assert invoke("list").stdout.count("complete") == 1


def test_what_only_one_command_needs_does_not_stop_another(copied: Path) -> None:
    path = copied / "manifest.json"
    whole = json.loads(path.read_text("utf-8"))
    picked = invoke("pick", "small").stdout
    path.write_text(json.dumps({**whole, "config_path": [3], "versions": [3]}), "utf-8")
    assert invoke("pick", "small").stdout == picked
    refused = invoke("verify", "small")
    assert refused.exit_code == 2
    assert f"{path.name}: config_path is missing or damaged. Run the sweep again." in refused.stderr
    assert invoke("run", "sweep.yaml", "--no-plots", "-q").exit_code == 0
    mended = json.loads(path.read_text("utf-8"))
    assert mended["versions"] == whole["versions"]


def test_a_number_of_a_manifest_that_was_altered_is_not_shown(copied: Path) -> None:
    path = copied / "manifest.json"
    text = path.read_text("utf-8")
    assert '"n_queries": 6' in text
    path.write_text(text.replace('"n_queries": 6', '"n_queries": 600'), "utf-8")
    [row] = invoke("list", "--json").document["sweeps"]
    assert (row["status"], row["n_queries"]) == ("unreadable", None)


def test_damage_of_a_neighbour_does_not_stop_another_sweep(copied: Path) -> None:
    path = copied / "manifest.json"
    whole = json.loads(path.read_text("utf-8"))
    for key in ("spec", "pool", "started", "status"):
        path.write_text(json.dumps({**whole, key: 3}), "utf-8")
        limit = f"limit={2 + len(key)}"
        done = invoke("run", "sweep.yaml", "--no-plots", "-q", "--set", limit)
        assert done.exit_code == 0, done


TABLES = ("trials", "figures", "per_query")


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_an_older_sweep_without_a_column_or_with_another_is_refused(
    copied: Path, name: str
) -> None:
    path = copied / "manifest.json"
    whole = json.loads(path.read_text("utf-8"))
    del whole["checks"], whole["files"]
    path.write_text(json.dumps(whole), "utf-8")
    table = pd.read_parquet(copied / f"{name}.parquet")
    metrics = {"recall@1", "mrr", "abstention"}
    for column in map(str, table.columns):
        if column in metrics or column.startswith("overall."):
            continue
        other = pd.Series([{"odd": 1}] * len(table))
        for damaged in (table.drop(columns=column), table.assign(**{column: other})):
            damaged.to_parquet(copied / f"{name}.parquet", index=False)
            for command in (["show", "small"], ["pick", "small"], ["compare", "small#0", "small"]):
                done = invoke(*command)
                assert done.exit_code in {0, 2}, (column, command, done)
                assert done.exit_code == 0 or copied.name in done.stderr, (column, command, done)
    table.iloc[:-1].to_parquet(copied / f"{name}.parquet", index=False)
    assert invoke("run", "sweep.yaml", "--no-plots", "-q").exit_code == 0
    assert invoke("show", "small").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "fifo", "empty", "link to itself"])
@pytest.mark.parametrize("name", ["manifest.json", "golden.jsonl", "trials.parquet", "pool"])
def test_what_is_no_file_any_more_is_one_message_and_the_same_run_mends_it(
    copied: Path, name: str, kind: str
) -> None:
    path = copied / name
    if name == "pool":
        [path] = (copied.parent.parent / ".pools").glob("*.parquet")
    path.unlink()
    if kind == "folder":
        (path / "inside").mkdir(parents=True)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "empty":
        path.touch()
    else:
        path.symlink_to(path)
    for command in (["show", "small"], ["explain", "small", "q1"], ["list"], ["pick", "small"]):
        done = invoke(*command)
        assert done.exit_code in {0, 2}, (command, done)
        assert done.exit_code == 0 or path.name in done.stderr or "small" in done.stderr, done
    done = invoke("run", "sweep.yaml", "--no-plots", "-q")
    if kind == "empty" or (name == "pool" and kind != "folder"):
        assert done.exit_code == 0, done
    else:  # what is no file of ours is not removed
        assert (done.exit_code, path.name in done.stderr) == (2, True), done
