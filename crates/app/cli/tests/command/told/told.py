"""Recomputes each number of a text that `sunstar run` or `sunstar explain` has printed from the tables of the
run's events (messages.parquet, calls.parquet). What has no event is compared with run.json, where other laws
hold it, and is listed in UNSOURCED. Prints what is wrong, and how many numbers were recomputed.

    python told.py TEXT
"""

import json
import re
import sys

import polars as pl

import checks
from checks import OF, PARTS, TIME, UNITS, WAITS, WHOLE, column_of, plain, same, share, time

report = json.load(open("run.json"))
messages = pl.read_parquet("messages.parquet")
calls = pl.read_parquet("calls.parquet")
lines = open(sys.argv[1]).read().split("\n")
unsourced = []

# Lines with numbers that are no result of simulated events.
UNSOURCED = [
    (r"Wall time ", "measured in the world"),
    (r"Own work ", "measured in the world"),
    (r"Trace hash ", "a digest of all events, held by golden tables"),
    (r"\((--full|--brief) prints", "no result"),
    (r"── sunstar ", "the command line"),
]

account = report["account"]
COLUMNS = {"waiting": WAITS, "library": ["library_ps"], "kernel": ["kernel_ps"], "NIC": ["nic_ps"],
           "network": ["network_ps"]}


def of_call(name):
    return calls.filter(pl.col("call") == name)


def sum_of(table, columns):
    return sum(int(table[column].sum()) for column in columns)


# The account of a rank is that of its calls, and of what lies between them.
BETWEEN_WORDS = {
    "computation, between calls": "computes_ps",
    "looks at a clock, between calls": "clocks_ps",
    "sleep, between calls": "sleeps_ps",
    "sockets, between calls": "sockets_ps",
}
whole = 0
for rank in account:
    own = calls.filter(pl.col("rank") == rank["rank"])
    between = sum(rank.get(key, 0) for key in BETWEEN_WORDS.values())
    same(f"rank {rank['rank']}: total", rank["total_ps"], int(own["total_ps"].sum()) + between)
    whole += rank["total_ps"]
same("the parts of all calls", sum_of(calls, PARTS), int(calls["total_ps"].sum()))


def waits_of(name):
    waits = {}
    for rank in account:
        for call in rank["calls"]:
            for one in call["waits_for"] if call["call"] == name else []:
                waits[one["rank"]] = waits.get(one["rank"], 0) + one["ps"]
    return waits


def cost(line):
    found = re.fullmatch(r" +(\d+) % +" + TIME + r"  (.*)", line)
    if not found:
        return False
    percent, number, unit, what = found.groups()
    of = re.fullmatch(r"(.*?)(?:, (?:waited for )?in| before) (\S+?)(?:, (\d+) % of (it|its waiting) "
                      r"for rank (\d+))?", what)
    if of:
        part, call, whom, of_what, rank = of.groups()
        exact = sum_of(of_call(call), [OF[part]])
        if whom:
            waits = waits_of(call)
            among = exact if of_what == "it" else sum_of(of_call(call), WAITS)
            # Rounded down.
            same(f"{line}: share of the rank", int(whom), 100 * waits[int(rank)] // among)
            same(f"{line}: the rank that is waited for most", waits[int(rank)], max(waits.values()))
    else:
        exact = sum(rank.get(BETWEEN_WORDS[what], 0) for rank in account)
    time(line, number, unit, exact)
    share(line, percent, exact, whole)
    return True


def call_row(line, columns):
    cells = r"(?: +(\d+) %)" * len(columns)
    found = re.fullmatch(r"  (\S+) +" + WHOLE + " +" + TIME + cells, line)
    if not found:
        return False
    name, times, number, unit, *shares = found.groups()
    own = of_call(name)
    same(f"{line}: calls", plain(times), own.height)
    total = int(own["total_ps"].sum())
    time(line, number, unit, total)
    for column, told in zip(columns, shares):
        share(f"{line}: {column}", told, sum_of(own, COLUMNS[column]), total)
    return True


SIZE = WHOLE + r"(?: to " + WHOLE + r")? B"


def of_class(kind, protocol, least, most):
    return messages.filter((pl.col("kind") == kind) & (pl.col("protocol") == protocol)
                           & pl.col("bytes").is_between(least, most))


def class_row(line, columns):
    found = re.fullmatch(r"  (\w+), (\w+), " + SIZE + " +" + WHOLE + (" +" + TIME) * len(columns), line)
    if not found:
        return False
    kind, protocol, least, most, number, *times = found.groups()
    least = plain(least)
    own = of_class(kind, protocol, least, plain(most) if most else least)
    same(f"{line}: number", plain(number), own.height)
    same(f"{line}: least", least, own["bytes"].min())
    same(f"{line}: most", plain(most) if most else least, own["bytes"].max())
    values = sorted(own["total_ps"].to_list())
    for at, column in enumerate(columns):
        told, unit = times[2 * at], times[2 * at + 1]
        if column in ("mean", "max"):
            time(f"{line}: {column}", told, unit, sum(values) / len(values) if column == "mean" else values[-1])
            continue
        # A percentile is the time of a message, at most one bucket above the exact one.
        percent = int(column[1:])
        exact = values[-(-len(values) * percent // 100) - 1]
        upper = [v for v in values if exact <= v <= exact * 17 / 16]
        digits = len(told.partition(".")[2])
        near = [v for v in upper if abs(v - float(told.replace(",", "")) * UNITS[unit]) <= UNITS[unit] / 10**digits]
        same(f"{line}: {column}, {told} {unit}, of {exact}", len(near) > 0, True)
    return True


STEPS = [name for name in messages.columns[messages.columns.index("entries_walked") + 1:]]


def message(title, rows, rest, total):
    """The steps of one message are those of a row of the table: `rows` are percent, number, unit and step."""
    number, unit = total
    digits = len(number.partition(".")[2])
    about = float(number.replace(",", "")) * UNITS[unit]
    near = [row for row in title["rows"] if abs(row["total_ps"] - about) <= UNITS[unit] / 10**digits]
    best = None
    for row in near:
        kept, count = checks.begin()
        shown = 0
        for percent, told, of, step in rows:
            exact = row[column_of(step)] or 0
            shown += exact
            time(f"{title['line']}: {step}", told, of, exact)
            share(f"{title['line']}: {step}", percent, exact, row["total_ps"])
        if rest:
            others, told, of = rest
            time(f"{title['line']}: the rest", told, of, row["total_ps"] - shown)
            steps = sum(row[column] is not None for column in STEPS)
            same(f"{title['line']}: other steps", others, steps - len(rows))
        else:
            same(f"{title['line']}: all steps", shown, row["total_ps"])
        found = checks.end(kept)
        if best is None or len(found) < len(best):
            best = found
        if not found:
            break
        checks.checked = count
    checks.wrong += [f"no message takes so long: {title['line']}"] if best is None else best


nodes = report["nodes"]


def spread(name, values, told):
    """Cells of a table of nodes: of each one, or sum, least and greatest."""
    if len(values) <= 4:
        return list(zip(told, values))
    # What is the most at a time has no sum.
    greatest = name.endswith(("_max", "_high_water"))
    return list(zip(told, [max(values) if greatest else sum(values), min(values), max(values)]))


def firmware(line):
    own = report.get("firmware")
    found = re.fullmatch(r"Firmware +busy (\d+) %, " + WHOLE + " cycles a message, " + WHOLE + " sent and received",
                         line)
    if not found:
        return False
    busy, each, number = (plain(text) for text in found.groups())
    share(line, busy, own["busy_cycles"], own["cycles"])
    same(line, each, own["busy_cycles"] / own["messages"], 1)
    same(line, number, own["messages"])
    return True


FULL = {
    "instructions a message sent or received": lambda own: own["busy_instructions"] / own["messages"],
    "cycles a message sent or received": lambda own: own["busy_cycles"] / own["messages"],
    "messages that NICs sent and received": lambda own: own["messages"],
    "cycles in which it did more than poll": lambda own: own["busy_cycles"],
    "instructions, idle loop included": lambda own: own["instructions"],
    "cycles, idle loop included": lambda own: own["cycles"],
}


def counters(line, section):
    name, *cells = re.split(r"\s{2,}", line.strip())
    if section == "host":
        values = [node["host_ns"][name] * 1e3 for node in nodes]
        for (told, exact) in spread(name, values, cells):
            time(line, *told.split(" "), exact)
        return True
    of = report["switches"] if section == "switch" else nodes
    values = [node["counters"].get(name, 0) for node in of]
    for told, exact in spread(name, values, cells):
        same(line, plain(told), exact)
    return True


def last(line):
    name, rest = line.strip().split(maxsplit=1)
    own = next(one for one in report["collectives"] if one["call"] == name)
    # Who is alone in a communicator waits for nobody: such operations are not counted.
    table = of_call(name).filter(pl.col("collective").is_not_null())
    table = table.filter(pl.len().over(["communicator", "collective"]) > 1)
    operations = table.unique(["communicator", "collective"])
    same(f"{line}: operations", plain(re.search(WHOLE + " operations?; came last", rest)[1]), operations.height)
    for rank, number, told, unit in re.findall(r"rank (\d+) " + WHOLE + r" times? \(" + TIME, rest):
        times = operations.filter(pl.col("last_rank") == int(rank)).height
        same(f"{line}: rank {rank}", plain(number), times)
    spreads = []
    for of, in table.group_by(["communicator", "collective"]).agg(pl.col("start_ps")).select("start_ps").iter_rows():
        spreads.append(max(of) - min(of))
    number, unit = re.search("from the first to the last " + TIME, rest).groups()
    time(f"{line}: first to last", number, unit, sum(spreads) / max(len(spreads), 1))
    same(f"{line}: spread", own["spread_ps"], sum(spreads))
    return True


section, columns, title, steps, rest = "", [], None, [], None
STEP = re.compile(r"  (\S.*?) +" + TIME + r" +(\d+) %.*")
EXPLAINED = re.compile(r" +(\d+) % +" + TIME + r"  (.*)")
for line in lines:
    if not re.search(r"\d", line):
        section = "" if not line.strip() else section
        if not line.strip() and title and title.get("explained"):
            message(title, steps, rest, title["total"])
            title = None
        if line.startswith("Calls (") or line.startswith("  ") and " calls " in line:
            columns = line.split()[2:] if " calls " in line else columns
        if found := re.match(r"(NIC|Switches|Host) since ", line):
            section = {"N": "nic", "S": "switch", "H": "host"}[line[0]]
        continue
    known = next((why for start, why in UNSOURCED if re.match(start, line)), None)
    if known:
        unsourced.append(known)
        continue
    if found := re.match(r"What the program's time went into.* \(" + TIME + r" of (\d+) ranks?\)", line):
        time(line, found[1], found[2], whole)
        same(line, int(found[3]), len(account))
    elif line.startswith("Calls ("):
        if found := re.search(r"(\d+) of (\d+) functions", line):
            same(line, int(found[2]), calls["call"].n_unique())
    elif found := re.match(r"Messages " + WHOLE + r" \((?:.*?(\d+) of (\d+) classes)?", line):
        same(line, plain(found[1]), messages.height)
        if found[3]:
            same(line, int(found[3]), len(report["breakdowns"]))
    elif re.match(r"  kind, protocol, size", line):
        columns = line.split()[4:]
    elif found := re.match(r"Where the time of an? " + WHOLE + r"-byte message went \((\w+), (\w+); (?:median of all "
                           + WHOLE + r"|.*)\)", line):
        size, kind, protocol, number = found.groups()
        title = {"line": line, "rows": messages.filter((pl.col("kind") == kind) & (pl.col("protocol") == protocol)
                                                       & (pl.col("bytes") == plain(size))).to_dicts()}
        classes = [one for one in report["breakdowns"] if one["kind"] == kind and one["protocol"] == protocol
                   and one["bytes_least"] <= plain(size) <= one["bytes_most"]]
        if number:
            same(line, plain(number), of_class(kind, protocol, classes[0]["bytes_least"],
                                               classes[0]["bytes_most"]).height)
        steps, rest = [], None
    elif title and not title.get("explained") and (found := re.fullmatch(r"  total +" + TIME, line)):
        message(title, steps, rest, found.groups())
        title = None
    elif title and not title.get("explained") and (found := STEP.fullmatch(line)):
        name, number, unit, percent = found.groups()
        if other := re.fullmatch(r"(\d+) other steps?", name):
            rest = (int(other[1]), number, unit)
        else:
            steps.append((percent, number, unit, name))
    elif found := re.match(r"The (\d+) slowest of " + WHOLE + " messages", line):
        same(line, plain(found[2]), messages.height)
        slowest = sorted(messages["total_ps"].to_list(), reverse=True)[: int(found[1])]
    elif found := re.match(r"Message (\d+):(\d+) \((\w+), (\w+), " + WHOLE + r" bytes\) began " + TIME
                           + r" after the launch and took " + TIME, line):
        node, serial, kind, protocol, size, begun, begun_unit, took, took_unit = found.groups()
        rows = messages.filter((pl.col("source_node") == int(node)) & (pl.col("serial") == int(serial))).to_dicts()
        same(f"{line}: one message", len(rows), 1)
        row = rows[0]
        same(f"{line}: bytes", plain(size), row["bytes"])
        same(f"{line}: kind", (kind, protocol) == (row["kind"], row["protocol"]), True)
        time(f"{line}: begin", begun, begun_unit, row["start_ps"])
        same(f"{line}: among the slowest", row["total_ps"] in slowest, True)
        title = {"line": line, "rows": rows, "explained": True, "total": (took, took_unit)}
        steps, rest = [], None
    elif title and title.get("explained") and (found := EXPLAINED.fullmatch(line)):
        percent, number, unit, name = found.groups()
        steps.append((percent, number, unit, name))
    elif title and title.get("explained") and (found := re.fullmatch(
            r" +" + TIME + r"  (?:(\d+) other steps together, each|another step,) below 1 %", line)):
        others = int(found[3] or 1)
        rest = (others, found[1], found[2])
    elif title and title.get("explained") and line.startswith(" " * 20):
        # Values of parameters, held by another law, and times of a walk.
        pass
    elif line.strip() and "came last" in line:
        last(line)
    elif found := re.match(r"Simulated time +" + TIME, line):
        time(line, found[1], found[2], report["simulated_ns"] * 1e3)
        ends = (calls["start_ps"] + calls["total_ps"]).max()
        same(f"{line}: no call ends later", ends <= report["simulated_ns"] * 1e3 + 1, True)
    elif line.startswith("Parameters "):
        for number, role in re.findall(r"(\d+) (\w+)", line):
            same(line, int(number), report["machine"]["parameters"][role])
    elif line.startswith("Firmware") and firmware(line):
        pass
    elif re.match(r"(NIC|Switches|Host) since ", line):
        section = {"N": "nic", "S": "switch", "H": "host"}[line[0]]
    elif section in ("nic", "switch", "host"):
        counters(line, section)
    elif found := re.match(r"  (\D+?) +" + WHOLE + "$", line):
        same(line, plain(found[2]), FULL[found[1]](report["firmware"]), 1)
    elif cost(line) or class_row(line, columns) or call_row(line, columns):
        pass
    else:
        checks.wrong.append(f"no source is known for: {line}")
if title and title.get("explained"):
    message(title, steps, rest, title["total"])
checks.tell(unsourced=sorted(set(unsourced)))
