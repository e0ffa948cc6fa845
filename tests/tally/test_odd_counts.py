"""What the fuzzer found in counting: each ends in a message, and no row is lost without one."""

from __future__ import annotations

import json
import random
from functools import partial
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumar as jm
from commands import run_command
from jumar.core.errors import CountsError, LogError
from jumar.log.shards import order
from jumar.tally import counting
from jumar.tally.counted import CountedFacts
from jumar.tally.counting import count_logs
from jumar.tally.counting import run as run_job
from jumar.tally.files import METADATA, load_counts, save_counts
from jumar.tally.keeping import KeptShards
from tally.test_counting import a_table, controller, prepare, written

HEADER = "episode,step,observation,action,reward,terminated\n"


@pytest.fixture
def log(tmp_path):
    return written(a_table(11), tmp_path / "log.parquet")


@pytest.fixture
def run(capsys):
    return partial(run_command, capsys)


@pytest.fixture
def rule(tmp_path):
    controller().save(tmp_path / "rule.json")
    return tmp_path / "rule.json"


# ---- files of counts ----------------------------------------------------------------------------


def of_type(name, kind):
    def change(table):
        at = table.column_names.index(name)
        return table.set_column(at, name, pa.nulls(table.num_rows, pa.int8()).cast(kind))

    return change


def cells(name, change, kind=None):
    def changed(table):
        at = table.column_names.index(name)
        values = change(table.column(at).to_pylist())
        return table.set_column(at, name, pa.array(values, kind or table.column(at).type))

    return changed


def about(change):
    def changed(table):
        told = json.loads(table.schema.metadata[METADATA])
        told = change(told) or told
        return table.replace_schema_metadata({METADATA: json.dumps(told).encode()})

    return changed


def pair(**values):
    """The first row of a pair that is followed by something."""

    def changed(table):
        rows = table.to_pylist()
        k = next(i for i, r in enumerate(rows) if r["action"] is not None and r["next_times"])
        rows[k].update(values)
        again = pa.Table.from_pylist(rows, table.schema)
        return again.replace_schema_metadata(table.schema.metadata)

    return changed


def facts(**values):
    return about(lambda told: told["facts"].update(values))


def counted(*part):
    return about(lambda told: told.update(counted=[list(part)]))


ODD = {
    "numbers where lists were": cells("next_times", lambda v: [1] * len(v), pa.int64()),
    "no numbers": of_type("visits", pa.string()),
    "visits that are fractions": cells("visits", lambda v: [0.5] * len(v), pa.float64()),
    "visits that are missing": cells("visits", lambda v: [None, *v[1:]]),
    "flags": cells("starts", lambda v: [True] * len(v), pa.bool_()),
    "a rest that is missing": cells("reward_rest", lambda v: [[None], *v[1:]]),
    "whole rewards": cells("reward_sum", lambda v: [2**63 - 1] * len(v), pa.int64()),
    "text in lists": cells("node", lambda v: [["x"]] * len(v), pa.list_(pa.string())),
    "endless episodes": facts(episodes=float("inf")),
    "episodes in words": facts(episodes="many"),
    "less than no steps": facts(steps=-1),
    "lengths that are missing": facts(lengths_cut=None),
    "lengths of another kind": facts(lengths_ended={"shortest": [], "longest": 1}),
    "rewards without end": facts(rewards=[float("-inf"), 1]),
    "one reward": facts(ending_rewards=[1]),
    "no facts": about(lambda told: told.update(facts=[])),
    "files that are no list": about(lambda told: told.update(counted={"a": 1})),
    "half a file": counted("log.parquet", 0, 1),
    "a file without a name": counted(7, 0, 1, None, True),
    "a file backwards": counted("log.parquet", 2, 1, None, True),
    "one label": counted("log.parquet", 0, 1, ["a"], True),
    "labels of two kinds": counted("log.parquet", 0, 1, ["a", 1], True),
    "labels in a word": counted("log.parquet", 0, 1, "ab", True),
    "episodes that never began": cells("starts", lambda v: [0] * len(v)),
    "more episodes than began": facts(episodes=10**6),
    "no rows": lambda table: table.slice(0, 0),
    "a list at the top": about(lambda told: [told]),
    "another format": about(lambda told: told.update(format="jumar-counts/99")),
    "no format": about(lambda told: told.clear()),
    "names twice": about(lambda told: told.update(observations=["good", "good"])),
    "no memory": about(lambda told: told.update(memory={"window": "long"})),
    "an observation": pair(observation="melted"),
    "a node": pair(node=[7, 9]),
    "fields of a node": pair(node=[1]),
    "visits": pair(visits=10**9),
    "a negative count": pair(next_times=[-1], next_observation=[0]),
    "what follows": pair(next_observation=[77], next_times=[1]),
    "lists of two lengths": pair(next_observation=[0, 1], next_times=[1]),
    "a list that is missing": pair(next_times=None),
    "a reward": pair(reward_sum=float("nan")),
    "another order": lambda table: table.take(list(range(table.num_rows))[::-1]),
    "a row twice": lambda table: table.take([0, 1, 2, 2, *range(3, table.num_rows)]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
def test_damaged_counts_are_refused(tmp_path, log, name):
    path = tmp_path / "counts.parquet"
    save_counts(count_logs(log, controller(jm.window(3))), path)
    pq.write_table(ODD[name](pq.read_table(path)), path)
    with pytest.raises(CountsError, match=r"counts\.parquet"):
        load_counts(path)


def test_lists_within_lists_without_end_are_refused(tmp_path, log):
    path = tmp_path / "counts.parquet"
    save_counts(count_logs(log, controller()), path)
    table = pq.read_table(path).replace_schema_metadata({METADATA: b"[" * 100_000})
    pq.write_table(table, path)
    with pytest.raises(CountsError, match="nested too deeply"):
        load_counts(path)


def test_labels_of_two_kinds_in_two_parts_of_a_file(tmp_path, log):
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    for path, part in ((one, (0, 1, [1, 2])), (two, (1, 2, ["a", "b"]))):
        save_counts(count_logs(log, controller()), path)
        pq.write_table(counted("log.parquet", *part, True)(pq.read_table(path)), path)
    with pytest.raises(CountsError, match="numbers in one part"):
        load_counts(one) + load_counts(two)


# ---- several files ------------------------------------------------------------------------------


def text(path, *rows, header=HEADER):
    path.write_text(header + "".join(f"{row}\n" for row in rows))
    return path


def test_labels_are_compared_however_files_write_them(tmp_path):
    """Numbers in Parquet, text elsewhere."""
    rows = [{"episode": 7, "step": 0, "observation": "good", "action": "fix", "reward": 1.0}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    other = text(tmp_path / "b.csv", "8,0,good,fix,1", header=HEADER.replace(",terminated", ""))
    found = count_logs([tmp_path / "a.parquet", other], controller(), ends="cut")
    assert found.facts.episodes == 2
    rows = ("8,0,good,fix,1", "7,0,good,fix,1")
    again = text(tmp_path / "b.csv", *rows, header=HEADER.replace(",terminated", ""))
    with pytest.raises(LogError, match="comes up a second time"):
        count_logs([tmp_path / "a.parquet", again], controller(), ends="cut")


@pytest.mark.parametrize("kind", ["ndjson", "parquet"])
@pytest.mark.parametrize("kept", [0, 1 << 16])
def test_labels_that_take_turns_in_files_are_read_once_more_at_most(
    tmp_path, monkeypatch, kind, kept
):
    """No file begins after the one before ends, so all labels are compared."""
    table, reads = a_table(3, episodes=8), []
    read = counting.rows_of
    monkeypatch.setattr(order, "MOST_KEPT", kept)
    monkeypatch.setattr(
        counting, "rows_of", lambda plan, *where: reads.append(where) or read(plan, *where)
    )
    for letter in "abcdefghij":
        labels = pa.array([f"{old}{letter}" for old in table["episode"].to_pylist()])
        written(table.set_column(0, "episode", labels), tmp_path / f"{letter}.{kind}")
    assert count_logs(tmp_path, controller(), jobs=1).facts.episodes == 80
    reads = [where for where in reads if where[-1] == reads[-1][-1]]  # plainly, or generally
    shards = len({where[:2] for where in reads})
    assert len(reads) == (2 * shards if kept == 0 else shards)
    labels = pa.array([f"{old}c" for old in table["episode"].to_pylist()])
    written(table.set_column(0, "episode", labels), tmp_path / f"k.{kind}")
    with pytest.raises(LogError, match="comes up a second time"):
        count_logs(tmp_path, controller())


@pytest.mark.parametrize("kind", ["arrow", "csv", "parquet", "ndjson"])
def test_a_column_that_a_later_file_does_not_have(tmp_path, kind):
    first = written(a_table(3), tmp_path / f"a.{kind}")
    second = written(a_table(4).drop_columns(["reward"]), tmp_path / f"b.{kind}")
    with pytest.raises(LogError, match="reward"):
        count_logs([first, second], controller())


def test_an_episode_goes_on_though_every_file_has_its_own_dictionary(tmp_path):
    table = a_table(5)
    labels = table["episode"].combine_chunks()
    paths = []
    for i, first in enumerate(range(0, table.num_rows, 50)):
        piece = labels.slice(first, 50)
        words = piece.dictionary_encode() if i % 2 else pa.concat_arrays([piece])
        part = table.slice(first, 50).set_column(0, "episode", words)
        paths.append(tmp_path / f"{i}.parquet")
        pq.write_table(part, paths[-1], row_group_size=7)
    whole = count_logs(written(table, tmp_path / "whole.parquet"), controller())
    assert count_logs(paths, controller()).facts == whole.facts


def test_an_odd_type_is_told_in_words(tmp_path):
    table = a_table(3)
    odd = pa.array([[]] * table.num_rows, pa.list_(pa.null()))
    path = written(table.set_column(5, "terminated", odd), tmp_path / "log.parquet")
    with pytest.raises(LogError, match="terminated"):
        count_logs(path, controller())


def test_no_row_is_lost_where_only_one_of_two_files_is_plain(tmp_path):
    """The second worker passes over an episode that the first one did not read to its end."""
    first = text(tmp_path / "a.csv", '1,0,good,fix,"1,000.5",false', "1,1,good,fix,1,false")
    second = text(tmp_path / "b.csv", "1,2,good,fix,1,true", "2,0,good,fix,1,true")
    with pytest.raises(LogError, match=r"goes on in .*b\.csv"):
        count_logs([first, second], controller())
    text(second, "3,2,good,fix,1,true", "2,0,good,fix,1,true")
    assert count_logs([first, second], controller()).facts.steps == 4


def in_shares(paths, n):
    """Counted as in a job array: nobody sees the labels of all."""
    job = prepare(paths, controller())
    return [run_job(job, job.plan.shards(10**9, 1, (i, n))) for i in range(1, n + 1)]


def test_shares_refuse_an_episode_in_two_files_that_are_not_plain(tmp_path):
    table = a_table(3)
    paths = [written(table.slice(0, 31), tmp_path / "a.ndjson")]
    paths.append(written(table.slice(31), tmp_path / "b.ndjson"))
    assert table["episode"][30] == table["episode"][31]
    with pytest.raises(LogError, match=r"goes on in .*b\.ndjson"):
        in_shares(paths, 2)


def test_shares_count_no_row_twice_where_only_the_second_file_is_not_plain(tmp_path):
    first = text(tmp_path / "a.csv", "1,0,good,fix,1,false", "1,1,good,fix,1,false")
    second = text(tmp_path / "b.csv", "1,2,good,fix,1,true", '2,0,good,fix,"1,000.5",true')
    with pytest.raises(LogError, match=r"a\.csv: .*(goes on in .*b\.csv|--shard)"):
        in_shares([first, second], 2)


@pytest.mark.parametrize("seed", range(12))
def test_cut_into_files_of_any_kind_it_is_the_same_log_or_refused(tmp_path, seed):
    """Lines of JSON, numbers for labels: who reads on and who does not agree."""
    rng = random.Random(seed)
    table = a_table(seed, episodes=12, closing=False)
    if rng.randrange(2):
        labels = [int(label[1:]) for label in table["episode"].to_pylist()]
        table = table.set_column(0, "episode", pa.array(labels))
    cuts = [0, *sorted(rng.sample(range(1, table.num_rows), rng.randint(1, 4))), table.num_rows]
    kinds = rng.choice((["csv"], ["parquet", "csv"], ["ndjson", "arrow"]))
    paths = []
    for i, (first, last) in enumerate(pairwise(cuts)):
        path = tmp_path / f"{i}.{rng.choice(kinds)}"
        paths.append(written(table.slice(first, last - first), path))
    whole = count_logs(written(table, tmp_path / "whole.parquet"), controller()).facts
    for count in (lambda: [count_logs(paths, controller())], lambda: in_shares(paths, 3)):
        try:
            found = sum((part.facts for part in count()), CountedFacts())
        except LogError:
            continue
        assert found == whole


def test_numbers_after_text_are_other_episodes(tmp_path):
    """The second episode of the first file has number 2 within, and so is labelled the next."""
    header = HEADER.replace(",terminated", "")
    first = text(tmp_path / "a.csv", "x,0,good,fix,1", "y,0,good,fix,1", header=header)
    second = [{"episode": 2, "step": 1, "observation": "good", "action": "fix", "reward": 1.0}]
    pq.write_table(pa.Table.from_pylist(second), tmp_path / "b.parquet")
    found = count_logs([first, tmp_path / "b.parquet"], controller(), ends="cut", jobs=1)
    assert found.facts.episodes == 3


def test_shares_of_files_of_several_kinds(tmp_path):
    """Each file is counted as a whole, where it begins."""
    paths = [written(a_table(3), tmp_path / "a.parquet")]
    paths.append(text(tmp_path / "b.csv", 'x,0,good,fix,"1,000.5",true'))
    one, two = in_shares(paths, 2)
    assert one.facts + two.facts == count_logs(paths, controller()).facts


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "ndjson"])
def test_what_an_end_means_is_asked_as_for_a_log_in_memory(tmp_path, kind):
    path = written(a_table(3, ends="not told"), tmp_path / f"log.{kind}")
    with pytest.raises(LogError, match="not clear what the end of an episode means"):
        count_logs(path, controller())
    written(a_table(3), path)
    with pytest.raises(LogError, match="says how each episode ends"):
        count_logs(path, controller(), ends="cut")


def test_an_end_before_the_last_step_is_a_matter_of_order(tmp_path):
    """Sorted, nothing is wrong with these rows."""
    path = text(tmp_path / "log.csv", "1,1,good,fix,1,true", "1,0,good,fix,1,false")
    with pytest.raises(LogError, match=r"row \d: the rows of this episode are not in order"):
        count_logs(path, controller())


def test_a_shard_without_an_episode(run, tmp_path, log, rule):
    done = run("count", log, "--policy", rule, "-o", tmp_path / "c.parquet", "--shard", "99/100")
    assert done.code == 0, done.err


# ---- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("shard", ["1/" + "9" * 5000, "½/1", "a/b", "1", "", "1/1/1", "-1/2"])
def test_shards_that_are_none(run, tmp_path, log, rule, shard):
    done = run("count", log, "--policy", rule, "-o", tmp_path / "c.parquet", "--shard", shard)
    assert done.code == 2
    assert "expected I/N" in done.err
    assert len(done.err) < 300


@pytest.mark.parametrize(
    "manifest", ["", "[]", "null", '"job"', "{", '{"job": 7}', "[" * 100_000, b"\xff\xfe"]
)
def test_a_damaged_manifest_is_as_good_as_another_job(run, tmp_path, log, rule, manifest):
    folder = tmp_path / "c.parquet.parts"
    folder.mkdir()
    data = manifest if isinstance(manifest, bytes) else manifest.encode()
    (folder / "job.json").write_bytes(data)
    command = ("count", log, "--policy", rule, "-o", tmp_path / "c.parquet")
    done = run(*command, "--resume")
    assert done.code == 1
    assert "Leave out --resume" in done.err
    assert run(*command).code == 0


def test_other_files_among_kept_shards_are_passed_over(tmp_path, log, rule):
    output = tmp_path / "c.parquet"
    folder = tmp_path / "c.parquet.parts"
    job = prepare(log, jm.load_controller(rule))
    kept = KeptShards(output, job.plan, job.described)
    kept.begin(resume=False)
    for name in ("shard-.parquet", "shard-a-b.parquet", "shard-1.parquet", "shard-1-2-3.parquet"):
        (folder / name).write_text("what is this?")
    assert kept.begin(resume=True) == {}


def test_a_kill_in_the_middle_of_clearing_away(run, tmp_path, log, rule):
    """A part without its note, a note without its part: neither stops the run that goes on."""
    output, folder = tmp_path / "c.parquet", tmp_path / "c.parquet.parts"
    command = ("count", log, "--policy", rule, "-o", output)
    assert run(*command).code == 0
    expected = output.read_bytes()
    job = prepare([str(log)], jm.load_controller(rule))
    kept = KeptShards(output, job.plan, job.described)
    kept.begin(resume=False)
    run_job(job, job.plan.shards(1, 3), kept=kept)
    parts = sorted(folder.glob("shard-*.parquet"))
    parts[0].unlink()
    parts[1].with_suffix(".json").unlink()
    assert len(kept.begin(resume=True)) == len(parts) - 2
    parts[2].unlink()
    done = run(*command, "--resume")
    assert (done.code, output.read_bytes()) == (0, expected)
    assert not folder.exists()


def test_a_file_where_the_folder_of_shards_should_be(run, tmp_path, log, rule):
    (tmp_path / "c.parquet.parts").write_text("mine")
    command = ("count", log, "--policy", rule, "-o", tmp_path / "c.parquet")
    for more in ((), ("--resume",)):
        done = run(*command, *more)
        assert done.code == 2
        assert "c.parquet.parts" in done.err
    assert (tmp_path / "c.parquet.parts").read_text() == "mine"


def test_a_column_that_only_a_later_file_has_is_not_passed_over(tmp_path):
    """Whether a step was the last decides what is learned."""
    (tmp_path / "a.csv").write_text("episode,step,observation,action,reward\n1,1,z,a,0\n")
    head = "episode,step,observation,action,reward,terminated\n"
    (tmp_path / "b.csv").write_text(f"{head}2,1,z,a,0,1\n")
    like = jm.Controller.uniform(("z",), ("a",))
    with pytest.raises(LogError, match=r"b.csv: has a column 'terminated', which .*a.csv has not"):
        jm.count_logs(tmp_path, like, ends="cut")
