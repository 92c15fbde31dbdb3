"""A larger atlas: the wiki of an invented company with a few thousand pages, made by templates.

    python -m tests.benchmarks.atlas_large DIR

writes ``pages/<category>/<name>.md``, ``golden.jsonl``, ``triples.json`` and ``atlas.yaml``, which
is ``configs/atlas.yaml`` on these files: ``sweep run DIR/atlas.yaml``. Everything follows from the
seed, byte for byte. In the small atlas forty pages compete; here three thousand do, with names that
share their words and nine pages about each service, so that recall@5 is far from its ceiling.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

__all__ = ["Atlas", "Fact", "main", "make_atlas", "write_atlas"]

CONFIG = Path(__file__).parents[2] / "configs/atlas.yaml"
N_SERVICES = 330
N_TICKETS = 4  # per service; all but the last one were discussed in a meeting, which is a digest
QUESTIONS_PER_TYPE = 60


def _split(text: str) -> list[str]:
    return [part.strip() for part in " ".join(text.split()).split(";")]


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(left, right) for left, _, right in (part.partition(" = ") for part in _split(text))]


_COLOURS = _split(
    """Amber; Ashen; Azure; Brass; Bronze; Chalk; Cobalt; Copper; Coral; Crimson; Ebony; Flint;
    Hazel; Indigo; Ivory; Jade; Linen; Ochre; Pearl; Russet; Sable; Silver; Slate; Umber"""
)
_THINGS = _split(
    """Anvil; Barge; Bellows; Buoy; Chisel; Compass; Crane; Dial; Ferry; Gable; Girder; Hatch; Jetty;
    Kettle; Ladder; Mast; Paddle; Pulley; Quay; Rudder; Sluice; Spindle; Thimble; Weir"""
)
_FIRST = _split(
    "Ada; Bram; Cleo; Dirk; Elsa; Finn; Greta; Hugo; Ilse; Jonas; Karin; Lars; Mona; Nils; Olga"
)
_LAST = _split("Ashby; Birkett; Colwell; Denby")
# What a service does, to what, and how: in the words of its pages = of somebody who asks.
_DEEDS = _pairs(
    """calculates = works out; keeps = stores; sends out = delivers; checks = validates;
    compares = matches; sorts = puts in order; prints = puts on paper; watches = monitors;
    cleans = tidies; counts = tallies; translates = rewrites; predicts = forecasts;
    plans = schedules; archives = puts away; measures = gauges; collects = gathers;
    signs = approves; publishes = makes public"""
)
_MATTERS = _pairs(
    """courier rounds = delivery routes; invoices = bills; refunds = money back;
    complaints = angry letters; shift lists = rotas; spare parts = replacements;
    holiday requests = days off; street maps = town plans; contracts = signed deals;
    customs forms = border papers; phone numbers = numbers to call; photographs = pictures;
    training hours = lessons; fuel receipts = petrol slips; van repairs = mended vehicles;
    parcel labels = stickers on boxes; door alarms = alarms of doors; rents = leases;
    job letters = applications"""
)
_HABITS = _pairs(
    """works on a copy, so that a slow reader never blocks a writer = leave live data alone;
    tries three times and then fails loudly = stop after a few attempts;
    throws away whatever is older than a minute = drop stale work;
    asks two people before anything is deleted = want a second pair of eyes to erase;
    answers from memory while its database is silent = reply from a cache;
    runs at night, when machines are idle = wait until everybody is asleep;
    refuses more work instead of letting a queue grow = turn callers away;
    writes its intention down before it acts = note the plan first;
    shows numbers and no names = hide who somebody is;
    keeps every earlier version = preserve the past"""
)
_CAUSES = _split(
    """a full disk; a clock that ran ahead; a lost answer; an expired certificate; an empty file;
    a list that was sorted twice; a restart at noon; a column that was renamed"""
)
# On pages of every kind, and in the words of the questions, so that words alone decide little.
_ASIDES = _split(
    """The dashboard has a panel for it, and somebody looks at it every morning.;
    The question of cost was put off until the next quarter.;
    Support was told what to say, and in which order.;
    Nobody on call has been woken by it since the summer.;
    A load test with twice the traffic of a Monday brought nothing new.;
    The design meeting read it aloud and asked for shorter sentences.;
    How many requests a second arrive depends on the season.;
    Whoever owns the station wants to see it before it is switched on.;
    An earlier attempt was given up, because nobody owned it.;
    There is a test for it now, and it fails without the change.;
    When the line is down, nothing else is tried.;
    The release before it is kept for a fortnight, then it goes.;
    Error codes are never used twice, not even after years.;
    Which ticket it was can be found in the list of decisions."""
)


class Fact(NamedTuple):
    """A sentence that says how a subject stands to an object."""

    subject: str
    predicate: str
    object: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Atlas:
    """Pages by id (front matter and text), golden rows, triples."""

    pages: dict[str, str] = field(default_factory=dict)
    golden: list[dict[str, object]] = field(default_factory=list)
    triples: list[dict[str, str]] = field(default_factory=list)

    def add(self, page: str, title: str, day: date, said: Sequence[str | Fact]) -> None:
        facts = [fact for fact in said if isinstance(fact, Fact)]
        self.triples.extend(fact._asdict() | {"page": page} for fact in facts)
        text = " ".join(it.sentence if isinstance(it, Fact) else it for it in said)
        front = f"---\ntitle: {json.dumps(title)}\nupdated_at: {day}\n---\n"
        self.pages[page] = f"{front}\n# {title}\n\n{text}\n"


@dataclass(frozen=True, slots=True)
class _Service:
    name: str
    owner: str
    does: str
    asked: str
    habit: tuple[str, str]
    needs: tuple[_Service, ...]
    rate: int
    tickets: tuple[int, ...]

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")

    def code(self, ticket: int) -> str:
        initials = "".join(word[0] for word in self.name.split())
        return f"{initials}-{ticket * 7 % 9000 + 1000}"  # 7 and 9000 share no factor: no repeats


def make_atlas(n_services: int = N_SERVICES, *, seed: int = 7) -> Atlas:
    """Make a world of services, their pages, and questions about them.

    Parameters
    ----------
    n_services : count, from 12 to 342
        Each has a page, a design, four tickets and three digests.
    seed
        Seeds a generator local to this call.
    """
    most = len(_DEEDS) * len(_MATTERS)
    if not 12 <= n_services <= most:
        raise ValueError(f"n_services must be from 12 to {most}, got {n_services}")
    rng = random.Random(seed)
    services = _services(n_services, rng)
    atlas = Atlas()
    for service in services:
        _describe(service, atlas, rng)
    _ask(services, atlas, rng)
    return atlas


def _services(n_services: int, rng: random.Random) -> list[_Service]:
    names = rng.sample(list(itertools.product(_COLOURS, _THINGS)), n_services)
    tasks = rng.sample(list(itertools.product(_DEEDS, _MATTERS)), n_services)
    numbers = rng.sample(range(1000, 10_000), n_services * N_TICKETS)
    services: list[_Service] = []
    for i, (name, (deed, matter)) in enumerate(zip(names, tasks, strict=True)):
        service = _Service(
            name=" ".join(name),
            owner=f"{rng.choice(_FIRST)} {rng.choice(_LAST)}",
            does=f"{deed[0]} {matter[0]}",
            asked=f"{deed[1]} {matter[1]}",
            habit=rng.choice(_HABITS),
            needs=tuple(rng.sample(services, min(2, i))),  # earlier ones only, so no circles
            rate=rng.randrange(20, 980, 10),
            tickets=tuple(numbers[i * N_TICKETS : (i + 1) * N_TICKETS]),
        )
        services.append(service)
    return services


def _describe(service: _Service, atlas: Atlas, rng: random.Random) -> None:
    name, owner = service.name, service.owner
    built = date(2025, 1, 1) + timedelta(rng.randrange(400))
    atlas.add(
        f"entities/{service.slug}",
        name,
        built,
        [
            f"{name} {service.does}.",
            Fact(owner, "owns", name, f"{owner} owns {name}."),
            *(
                Fact(name, "depends on", it.name, f"{name} depends on {it.name}, which {it.does}.")
                for it in service.needs
            ),
            f"It accepts {service.rate} requests a second and refuses the others.",
            *rng.sample(_ASIDES, 4),
        ],
    )
    wrote = Fact(owner, "wrote", f"design of {name}", f"{owner} wrote the design of {name}.")
    design = [f"This service {service.does}.", f"It {service.habit[0]}.", wrote]
    atlas.add(f"docs/{service.slug}", f"Design: {name}", built, design + rng.sample(_ASIDES, 6))
    for place, ticket in enumerate(service.tickets):
        key, cause = f"BF-{ticket}", rng.choice(_CAUSES)
        opened = built + timedelta(rng.randrange(30, 200))
        report = [
            f"Some requests to {name} end with {service.code(ticket)}.",
            Fact(key, "caused by", cause, f"{key} is caused by {cause}."),
            *rng.sample(_ASIDES, 4),
        ]
        atlas.add(f"tickets/bf-{ticket}", f"{key}: {name} fails", opened, report)
        if place == N_TICKETS - 1:
            continue
        release = f"release {place + 2}.{rng.randrange(10)} of {name}"
        meeting = [
            f"A meeting about {name}, called by {owner}.",
            Fact(release, "fixes", key, f"Decision: {release} fixes {key}."),
            *rng.sample(_ASIDES, 5),
        ]
        atlas.add(f"digests/bf-{ticket}", f"Digest: {name}", opened + timedelta(5), meeting)


def _ask(services: Sequence[_Service], atlas: Atlas, rng: random.Random) -> None:
    users: dict[str, list[str]] = {service.name: [] for service in services}
    for service in services:
        for needed in service.needs:
            users[needed.name].append(f"entities/{service.slug}")

    def relational(it: _Service) -> tuple[str, list[str]]:
        if it.needs and rng.random() < 0.5:
            needed = it.needs[0]
            question = f"Who owns the service that {needed.asked}, on which {it.name} relies?"
            return question, [f"entities/{it.slug}", f"entities/{needed.slug}"]
        ticket = it.tickets[rng.randrange(N_TICKETS - 1)]
        return f"Which release put BF-{ticket} right?", [f"digests/bf-{ticket}"]

    def code(it: _Service) -> tuple[str, list[str]]:
        ticket = rng.choice(it.tickets)
        form = rng.choice(("{}", "what is {}?", "{} since this morning"))
        return form.format(it.code(ticket)), [f"tickets/bf-{ticket}"]

    kinds: dict[str, Callable[[_Service], tuple[str, list[str]]]] = {
        "lookup": lambda it: (
            f"How many requests a second may be sent to {it.name}?",
            [f"entities/{it.slug}"],
        ),
        "conceptual": lambda it: (
            f"Does the service that {it.asked} {it.habit[1]}?",
            [f"docs/{it.slug}"],
        ),
        "relational": relational,
        "impact": lambda it: (f"What depends on {it.name} when it is down?", users[it.name]),
        "code": code,
    }
    for kind, ask in kinds.items():
        # One that nobody needs has no answer, and one that many need has more than fit a page.
        among = [it for it in services if kind != "impact" or 2 <= len(users[it.name]) <= 8]
        for i, it in enumerate(rng.sample(among, min(QUESTIONS_PER_TYPE, len(among))), 1):
            question, pages = ask(it)
            row = {"id": f"{kind}-{i:02}", "question": question, "expected_pages": pages}
            atlas.golden.append(row | {"type": kind})


def write_atlas(atlas: Atlas, folder: Path) -> None:
    """Write an atlas, and the config that sweeps it, into a new or empty folder."""
    files = {f"pages/{page}.md": text for page, text in atlas.pages.items()}
    files["golden.jsonl"] = "".join(json.dumps(row) + "\n" for row in atlas.golden)
    triples = ",\n".join(json.dumps(triple) for triple in atlas.triples)
    files["triples.json"] = f"[\n{triples}\n]\n"
    lines = CONFIG.read_text("utf-8").splitlines(keepends=True)
    config = "".join(line for line in lines if not line.startswith("#")).lstrip()
    config = config.replace("name: atlas\n", "name: atlas-large\n")
    files["atlas.yaml"] = config.replace("corpora/atlas/", "")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8", newline="\n")


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> None:
    """Read the command line, write the files, say what was written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="A new or empty folder.")
    parser.add_argument("--services", type=int, default=N_SERVICES, help="From 12 to 342.")
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args(arguments)
    if chosen.folder.exists() and (not chosen.folder.is_dir() or any(chosen.folder.iterdir())):
        parser.error(f"{chosen.folder} exists and is not an empty folder. Give a new one.")
    try:
        atlas = make_atlas(chosen.services, seed=chosen.seed)
    except ValueError as error:
        parser.error(f"{error}.")
    write_atlas(atlas, chosen.folder)
    say(f"{len(atlas.pages)} pages, {len(atlas.golden)} questions, {len(atlas.triples)} triples")
    say(f"sweep run {chosen.folder / 'atlas.yaml'}")


if __name__ == "__main__":
    main()
