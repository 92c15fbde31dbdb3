"""A larger atlas: the wiki of an invented company with 3,000 pages, made by templates.

    python -m tests.benchmarks.atlas_large DIR

writes ``pages/<category>/<name>.md``, ``golden.jsonl``, ``triples.json`` and two configs on these
files: ``atlas.yaml``, which is ``configs/atlas.yaml``, and ``routing.yaml``, which is
``configs/routing.yaml`` without what learns from usage, by the classes of the golden rows and with
fewer budgets. Everything follows from the seed, byte for byte. Services share the words of their
names, and ten pages are about each of them, so that recall@5 is far from its ceiling.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sweeper.formats.yaml_text import load_yaml

__all__ = ["Atlas", "Fact", "Page", "main", "make_atlas", "routing_config", "write_atlas"]

CONFIGS = Path(__file__).parents[2] / "configs"
N_SERVICES = 300
N_TICKETS = 4  # per service, each with the digest of a meeting
QUESTIONS_PER_TYPE = 60

# "left = right": in the words of the pages = of somebody who asks. Asides stand on pages of every
# kind and share words with the questions, so that single words decide little.
_WORDS = """
COLOURS Amber; Ashen; Azure; Brass; Bronze; Chalk; Cobalt; Copper; Coral; Crimson; Ebony; Flint;
  Hazel; Indigo; Ivory; Jade; Linen; Ochre; Russet; Sable; Silver; Slate; Umber; Violet
THINGS Anvil; Barge; Buoy; Chisel; Crane; Dial; Ferry; Gong; Hatch; Jetty; Ladder; Mast; Quay; Weir
OWNERS Ada; Bram; Cleo; Dirk; Elsa; Finn; Greta; Hugo; Ilse; Jonas; Karin; Lars; Mona; Nils; Olga
DEEDS calculates = works out; keeps = stores; sends out = delivers; checks = validates;
  compares = matches; sorts = puts in order; prints = puts on paper; watches = monitors;
  cleans = tidies; counts = tallies; translates = rewrites; predicts = forecasts;
  plans = schedules; archives = puts away; measures = gauges; collects = gathers
MATTERS courier rounds; invoices; refunds; rents; complaints; shift lists; spare parts; contracts;
  holiday requests; street maps; customs forms; phone numbers; photographs; training hours;
  deposits; fuel receipts; van repairs; parcel labels; door alarms; station keys
HABITS works on a copy, so that a slow reader never blocks a writer = leave live data alone;
  tries three times and then fails loudly = stop after a few attempts;
  asks two people before anything is deleted = want a second pair of eyes to erase;
  answers from memory while its database is silent = reply from a cache;
  runs at night, when machines are idle = wait until everybody is asleep;
  shows numbers and no names = hide who somebody is; keeps every version = preserve the past
CAUSES a full disk; a clock that ran ahead; a lost answer; an expired certificate; an empty file
ASIDES The dashboard has a panel for it, and somebody looks at it every morning.;
  The question of cost was put off until the next quarter.;
  There is a test for it now, and it fails without the change.;
  Nobody on call has been woken by it since the summer.;
  How many requests a second arrive depends on the season.;
  Whoever owns the station wants to see it, even when it is down.;
  The release before it is kept for a fortnight, then it goes.;
  Which ticket it was can be found in the list of decisions.
"""
_LISTS: dict[str, list[str]] = {
    name: [part.strip() for part in " ".join(rest.split()).split(";")]
    for name, rest in re.findall(r"^([A-Z]+) (.*(?:\n  .*)*)", _WORDS, re.MULTILINE)
}


class Fact(NamedTuple):
    """A sentence that says how a subject stands to an object."""

    subject: str
    predicate: str
    object: str
    sentence: str


class Page(NamedTuple):
    """What a page is called and when it was last changed."""

    key: str
    title: str
    day: date


class Atlas(NamedTuple):
    """Pages by id (front matter and text), golden rows, triples."""

    pages: dict[str, str]
    golden: list[dict[str, object]]
    triples: list[dict[str, str]]

    def add(self, page: Page, *said: str | Fact) -> None:
        facts = (it for it in said if isinstance(it, Fact))
        self.triples.extend(fact._asdict() | {"page": page.key} for fact in facts)
        text = " ".join(it.sentence if isinstance(it, Fact) else it for it in said)
        front = f"---\ntitle: {json.dumps(page.title)}\nupdated_at: {page.day}\n---\n"
        self.pages[page.key] = f"{front}\n# {page.title}\n\n{text}\n"


class _Service(NamedTuple):
    name: str
    owner: str
    does: str
    asked: str
    habit: tuple[str, str]
    needs: Sequence[_Service]
    tickets: range

    def key(self, category: str) -> str:
        return f"{category}/{self.name.lower().replace(' ', '-')}"

    def code(self, ticket: int) -> str:
        initials = "".join(word[0] for word in self.name.split())
        return f"{initials}-{ticket * 7 % 9000 + 1000}"  # 7 and 9000 share no factor: no repeats


def make_atlas(n_services: int = N_SERVICES, *, seed: int = 7) -> Atlas:
    """Make a world of services, their pages, and questions about them.

    Parameters
    ----------
    n_services : count, at most 320
        Each has a page, a design, four tickets and four digests.
    seed
        Seeds a generator local to this call.
    """
    rng = random.Random(seed)
    atlas = Atlas({}, [], [])
    services = _services(n_services, rng)
    users: dict[str, list[str]] = {service.name: [] for service in services}
    for service in services:
        _describe(service, atlas, rng)
        for needed in service.needs:
            users[needed.name].append(service.key("entities"))
    for kind in ("lookup", "conceptual", "relational", "impact", "code"):
        # What nobody needs has no answer; what many need has more than anybody would read.
        among = [it for it in services if kind != "impact" or 2 <= len(users[it.name]) <= 8]
        chosen = rng.sample(among, min(QUESTIONS_PER_TYPE, len(among)))
        for i, service in enumerate(chosen, 1):
            question, pages = _ask(kind, service, users[service.name], rng)
            row = {"id": f"{kind}-{i:02}", "question": question, "type": kind}
            atlas.golden.append({**row, "expected_pages": pages})
    return atlas


def _services(n_services: int, rng: random.Random) -> list[_Service]:
    names = rng.sample(list(product(_LISTS["COLOURS"], _LISTS["THINGS"])), n_services)
    tasks = rng.sample(list(product(_pairs("DEEDS"), _LISTS["MATTERS"])), n_services)
    services: list[_Service] = []
    for i, (name, (deed, matter)) in enumerate(zip(names, tasks, strict=True)):
        service = _Service(
            name=" ".join(name),
            owner=rng.choice(_LISTS["OWNERS"]),
            does=f"{deed[0]} {matter}",
            asked=f"{deed[1]} {matter}",
            habit=rng.choice(_pairs("HABITS")),
            needs=rng.sample(services, min(2, i)),  # earlier ones only, so there is no circle
            tickets=range(1000 + i * N_TICKETS, 1000 + (i + 1) * N_TICKETS),
        )
        services.append(service)
    return services


def _pairs(name: str) -> list[tuple[str, str]]:
    return [(left, right) for left, _, right in (it.partition(" = ") for it in _LISTS[name])]


def _describe(service: _Service, atlas: Atlas, rng: random.Random) -> None:
    name, owner, asides = service.name, service.owner, _LISTS["ASIDES"]
    built = date(2025, 1, 1) + timedelta(rng.randrange(400))
    atlas.add(
        Page(service.key("entities"), name, built),
        f"{name} {service.does}.",
        Fact(owner, "owns", name, f"{owner} owns {name}."),
        *(
            Fact(name, "depends on", it.name, f"{name} depends on {it.name}, which {it.does}.")
            for it in service.needs
        ),
        f"It accepts {rng.randrange(20, 980, 10)} requests a second and refuses the others.",
        *rng.sample(asides, 4),
    )
    atlas.add(
        Page(service.key("docs"), f"Design: {name}", built),
        f"This service {service.does}. It {service.habit[0]}.",
        Fact(owner, "wrote", f"design of {name}", f"{owner} wrote the design of {name}."),
        *rng.sample(asides, 6),
    )
    for place, ticket in enumerate(service.tickets):
        bug, cause = f"BF-{ticket}", rng.choice(_LISTS["CAUSES"])
        opened = built + timedelta(rng.randrange(30, 200))
        atlas.add(
            Page(f"tickets/bf-{ticket}", f"{bug}: {name} fails", opened),
            f"Some requests to {name} end with {service.code(ticket)}.",
            Fact(bug, "caused by", cause, f"{bug} is caused by {cause}."),
            *rng.sample(asides, 4),
        )
        release = f"release {place + 2}.{rng.randrange(10)} of {name}"
        atlas.add(
            Page(f"digests/bf-{ticket}", f"Digest: {name}", opened + timedelta(5)),
            f"A meeting about {name}, called by {owner}.",
            Fact(release, "fixes", bug, f"Decision: {release} fixes {bug}."),
            *rng.sample(asides, 5),
        )


def _ask(kind: str, it: _Service, users: list[str], rng: random.Random) -> tuple[str, list[str]]:
    """Return a question and its pages; ``users`` are the pages of what depends on the service."""
    ticket = rng.choice(it.tickets)
    if kind == "lookup":
        return f"How many requests a second may be sent to {it.name}?", [it.key("entities")]
    if kind == "conceptual":
        return f"Does the service that {it.asked} {it.habit[1]}?", [it.key("docs")]
    if kind == "impact":
        return f"What depends on {it.name} when it is down?", users
    if kind == "code":
        form = rng.choice(("{}", "what is {}?", "{} since this morning"))
        return form.format(it.code(ticket)), [f"tickets/bf-{ticket}"]
    if it.needs and rng.random() < 0.5:
        question = f"Who owns the service that {it.needs[0].asked}, on which {it.name} relies?"
        return question, [it.key("entities"), it.needs[0].key("entities")]
    return f"Which release put BF-{ticket} right?", [f"digests/bf-{ticket}"]


def write_atlas(atlas: Atlas, folder: Path) -> None:
    """Write an atlas, and the configs that sweep it, into a new or empty folder."""
    files = {f"pages/{page}.md": text for page, text in atlas.pages.items()}
    files["golden.jsonl"] = "".join(json.dumps(row) + "\n" for row in atlas.golden)
    files["triples.json"] = json.dumps(atlas.triples, indent=1) + "\n"
    config = (CONFIGS / "atlas.yaml").read_text("utf-8")
    config = config.partition("\n\n")[2]  # without the words at its top
    config = config.replace("name: atlas\n", "name: atlas-large\n")
    files["atlas.yaml"] = config.replace("corpora/atlas/", "")
    files["routing.yaml"] = routing_config((CONFIGS / "routing.yaml").read_text("utf-8"))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8", newline="\n")


def routing_config(text: str) -> str:
    """Return ``configs/routing.yaml`` for a large atlas.

    Classes are those of the golden rows. There are no readers, so whatever learns from them is
    left out, and what is built on it. Of each budget the smallest and the largest are swept.
    """
    config: Any = load_yaml(text.replace("corpora/atlas/", ""), "routing.yaml").data
    config |= {"name": "routing-large", "classes": "golden"}
    del config["usage"]
    arms: dict[str, Any] = {}
    for name, knobs in config["arms"].items():
        learns = any(knob.startswith("prior.") for knob in knobs)
        if not learns and knobs.get("from", name) in {name, *arms}:
            arms[name] = knobs
    config["arms"] = arms
    for name, values in config["space"].items():
        if name.endswith(".budget"):
            config["space"][name] = [values[0], values[-1]]
    written: str = yaml.safe_dump(config, sort_keys=False, width=100)
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, write the files, say what was written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="A new or empty folder.")
    folder: Path = parser.parse_args(arguments).folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        parser.error(f"{folder} exists and is not an empty folder. Give a new one.")
    atlas = make_atlas()
    write_atlas(atlas, folder)
    print(f"{len(atlas.pages)} pages, {len(atlas.golden)} questions, {len(atlas.triples)} triples")
    for name in ("atlas.yaml", "routing.yaml"):
        print(f"sweep run {folder / name}")


if __name__ == "__main__":
    main()
