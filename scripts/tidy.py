#!/usr/bin/env python3
"""The lint of the repository, run as a test: who may include whom, words that would break a promise
(a clock in the pure core, a hash order, an environment variable), file length, contract headers,
code that stands in two places, white space and formatting. Standard library only; a run takes a second or two.

A finding reads `path:line: rule: what is wrong, and the way out`. Exit status: 0 clean, 1 findings,
2 nothing to look at.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Iterator, NamedTuple

# Layer: the project layers, or single headers of them, that it may include beside itself, and the headers beyond the C++
# standard library, by prefix. `posix` stands for the system's C headers (<unistd.h>, <sys/stat.h>).
# In the order of dependence: a layer names only layers above it.
LAYERS = {
    "core": ("", "xxhash.h xxh_x86dispatch.h immintrin.h emmintrin.h"),
    "machine": ("core", "posix"),
    "drawing": ("core", ""),
    "federation": ("core", ""),
    "policy": ("core federation", ""),
    "data": ("core", "posix nlohmann/json.hpp zlib.h png.h"),
    "learner": ("core federation", ""),
    "work": ("core learner", ""),
    "builtin": ("core learner work data", ""),
    "drivers": ("core federation learner work", ""),
    "store": ("core federation drivers", "posix sqlite3.h openssl/"),
    "report": ("core federation drivers", "posix nlohmann/json.hpp"),
    "train": ("core learner data", "posix torch/ ATen/ caffe2/"),
    "sim": ("core federation policy learner data work builtin drivers", ""),
    "wire": ("core federation", "proto/metis/ google/protobuf zstd.h immintrin.h cpuid.h"),
    "rpc": ("core machine federation store learner drivers wire", "posix proto/metis/ google/protobuf grpc openssl/"),
    # Of rpc: certificate_authority.h, which it implements, and openssl.h.
    "authority": ("core federation store wire rpc", "posix openssl/"),
    "operations": ("core machine federation drivers report", ""),
    "dashboard": ("core machine federation report operations", "posix httplib.h prometheus/"),
    "config": ("core federation policy data learner/settings.h builtin/settings.h sim/settings.h store/settings.h wire/settings.h "
               "rpc/settings.h dashboard/settings.h", "toml++/"),
    "doctor": ("core machine federation data store report rpc authority config", "posix nlohmann/json.hpp openssl/"),
    "experiment": ("core machine drawing federation policy data store report config", "posix"),
    "service": ("core federation policy data builtin drivers store report rpc authority operations dashboard config", "posix"),
    "task": ("core federation data learner store report train config", ""),
    "simulation": ("core machine federation policy data learner work builtin drivers store report sim config task", ""),
    "site": ("core federation data learner builtin drivers store wire rpc authority train config task", "posix"),
}

# Everything else that the project uses. A header of none of these is refused until it stands here.
THIRD_PARTY = (
    "toml++/ nlohmann/ CLI/ torch/ ATen/ caffe2/ grpc google/protobuf sqlite3.h "
    "openssl/ zlib.h png.h httplib.h prometheus/ gtest/ gmock/ benchmark/ xxhash.h "
    "xxh_x86dispatch.h immintrin.h emmintrin.h zstd.h proto/metis/"
).split()
TEST_ONLY = "gtest/ gmock/".split()  # for tests beside the code
# A federation is tested with the parts that there are, in any layer that knows it; a port of this machine is taken in any.
TEST_LAYERS = {"core": ["machine"], "federation": ["policy"]}


def is_test_file(path: str) -> bool:
    """Tests beside the code: *_test.cc, and a directory's testing.h of fixtures."""
    return path.endswith("_test.cc") or path.endswith("/testing.h")


class Ban(NamedTuple):
    rule: str
    pattern: str
    where: str  # directories
    tests_too: bool
    way_out: str
    except_for: str = ""  # files


PURE = "metis/core/ metis/federation/ metis/policy/"

# Looked for in code only, not in comments or string literals.
BANS = [
    Ban("clock",
        r"\b(?:system|steady|high_resolution|utc|tai|gps|file)_clock\b|\bgettimeofday\b|\bclock_gettime\b"
        r"|\btimespec_get\b|\bstd::(?:time|clock)\s*\(|(?<!\w)::time\s*\("
        r"|\btime\s*\(\s*(?:nullptr|NULL|0|&)|(?<![\w.>])clock\s*\(\s*\)",
        PURE, False, "time comes in as an Instant argument"),
    Ban("random",
        r"(?<![\w.>])s?rand(?:_r)?\s*\(|\brandom_device\b|\bmt19937\w*"
        r"|\bminstd_rand0?\b|\branlux(?:24|48)(?:_base)?\b|\bknuth_b\b"
        r"|\b\w+_engine\b|\barc4random\w*|\b(?:[dejlmns]rand|lcong)48(?:_r)?\b|(?<![\w.>])random\s*\(\s*\)|(?<![\w.>])srandom\s*\(",
        "metis/", True, "draw from a keyed metis::Random, so that a seed replays the run"),
    Ban("output",
        r"\bstd::w?(?:cout|cerr|clog)\b|<(?:iostream|syncstream)>|\bv?f?printf\s*\(|\bf?puts\s*\(|\bputchar\s*\("
        r"|\bstd(?:out|err)\b|\bperror\s*\(",
        PURE, False, "return a Result or an Action and let the program print it",
        "metis/core/check.cc"),  # the last words of a process whose invariant broke
    Ban("thread",
        r"\bstd::(?:j?thread|(?:\w+_)?mutex|condition_variable\w*|async|future|promise|lock_guard"
        r"|unique_lock|shared_lock|scoped_lock|atomic\w*|(?:counting|binary)_semaphore|latch|barrier|this_thread)\b"
        r"|<(?:thread|(?:shared_)?mutex|condition_variable|future|atomic|semaphore|latch|barrier)>",
        "metis/federation/ metis/policy/", False, "one thread owns the controller: threads live in the drivers"),
    # It may lock and count: threads share a model.
    Ban("thread",
        r"\bstd::(?:j?thread|async|this_thread|condition_variable\w*)\b"
        r"|<(?:thread|condition_variable|future|semaphore|latch|barrier)>",
        "metis/core/", False, "core starts no thread and waits for none: threads live in the drivers"),
    Ban("file",
        r"\bstd::\w*fstream\b|\bstd::filesystem\b|\bf(?:re)?open\s*\(|\btmpfile\s*\(|<(?:fstream|filesystem)>",
        PURE, False, "files belong to metis/store: emit an Action, or take bytes"),
    Ban("hash-order",
        r"\bunordered_(?:multi)?(?:map|set)\b",
        "metis/federation/ metis/policy/", False,
        "hash order changes sums from run to run: use std::map, or a vector in id order"),
    Ban("environment", r"\b(?:secure_)?getenv\b",
        "metis/", True, "settings come from the configuration: two federations must fit in one test"),
    # A name of its own for std, or a space behind it, would walk around the rules above.
    Ban("using-std",
        r"\busing\s+namespace\s+(?:::\s*)?std\s*;|\bnamespace\s+\w+\s*=\s*(?:::\s*)?std\s*;|\bstd\s+::|\bstd::\s+\w",
        "metis/ apps/", True, "write std:: where it is used"),
]
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")  # comments and strings as well

MAX_LINES = 450
# C++ under another name would be read by no rule.
OTHER_CPP = set(".hpp .cpp .inc .cxx .hxx .hh .ipp .inl .tpp .c .C .cppm".split())
SIZED = {".h", ".cc", ".py", ".sh"}
CODE = SIZED | {".cmake", ".ts", ".mjs", ".css", ".html"}
EQUAL_LINES = 20  # in a row, blank ones not counted: lists of includes and descriptions of parts are shorter
TEXT = SIZED | {".cmake", ".md", ".toml", ".json", ".proto", ".txt"}
SKIPPED_DIRECTORIES = {".git", "build", "runs", "node_modules", "__pycache__"}


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    what: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.what}"


# --- files ---------------------------------------------------------------------------------------


def list_files(root: pathlib.Path) -> list[str]:
    """Tracked and not ignored files of a checkout; of any other tree all but the products of a build."""
    names = git_files(root) if (root / ".git").exists() else None
    if names is None:
        names = []
        for directory, below, files in os.walk(root):
            below[:] = [name for name in below if name not in SKIPPED_DIRECTORIES]
            names += [(pathlib.Path(directory) / f).relative_to(root).as_posix() for f in files]
    # The index still names a file that was deleted by hand.
    return sorted({n for n in names if (root / n).is_file() and not (root / n).is_symlink()})


def git_files(root: pathlib.Path) -> list[str] | None:
    command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]


# --- C++ -----------------------------------------------------------------------------------------

# Numbers are tokens here only because of digit separators: 1'000 opens no character literal.
TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.)*|/\*.*?\*/)
      | (?P<literal>R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)" | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)+')
      | (?<!\w)\d(?:'?[\w.])*""",
    re.DOTALL | re.VERBOSE)
INCLUDE = re.compile(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]")
STANDARD = re.compile(r"[a-z0-9_]+")
SYSTEM = re.compile(r"(?:(?:sys|net|netinet|arpa|linux)/)?[a-z0-9_]+\.h")


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def split_code(text: str) -> tuple[list[str], list[str]]:
    """The lines without comments, and the lines without comments and literals."""

    def without(kinds):
        return TOKEN.sub(lambda m: blank(m[0]) if any(m[k] for k in kinds) else m[0], text)

    return without(["comment"]).split("\n"), without(["comment", "literal"]).split("\n")


def layer_of(path: str) -> str | None:
    parts = path.split("/")
    return parts[1] if parts[0] == "metis" and len(parts) > 2 else None


def homes(header: str) -> str:
    found = [l for l, (_, extra) in LAYERS.items() if header.startswith(tuple(extra.split()) or ("\0",))]
    return ", ".join(f"metis/{layer}" for layer in found) or "apps, tests and bench"


def check_anywhere(path: str, header: str) -> str | None:
    """What is wrong with this include in any file."""
    if ".." in header.split("/"):
        return f'"{header}": name a header by its path from the root, without ..'
    if header.endswith("/testing.h") and not is_test_file(path) and not path.startswith("tests/"):
        return f"{header} is for tests: move what is needed to a header of its own"
    if header == "metis/core/planted.h" and path.endswith(".h"):
        return f"{header} is for .cc files: a header that calls Planted() would be compiled in two ways into one test"
    return None


def check_include(layer: str, is_test: bool, quote: str, header: str) -> str | None:
    """What is wrong with this include in this layer, if anything."""
    layers, extra = (words.split() for words in LAYERS[layer])
    if is_test:
        layers += [more for known in [layer, *layers] for more in TEST_LAYERS.get(known, [])]
    may = ", ".join([layer, *layers])
    if header.endswith(".pb.h"):  # generated from proto/
        header = "grpc" if header.endswith(".grpc.pb.h") else "google/protobuf"
    allowed = extra + (TEST_ONLY if is_test else [])
    if header.startswith(tuple(allowed) or ("\0",)):
        return None
    if header.startswith("metis/"):
        target = layer_of(header)
        if target == layer or target in layers or header.removeprefix("metis/") in layers:
            if header.endswith(".h"):
                return None
            return f"{header} is no header, and no rule reads it: its code belongs into a .h or .cc"
        return (f"metis/{layer} may not include {header} (it may include: {may}): pass what it needs "
                "in as a value or an interface, or move this code up")
    if header.startswith(tuple(THIRD_PARTY)):
        return (f"metis/{layer} may not include {header} (its place: {homes(header)}): "
                "hide it behind an interface there")
    if quote == '"':
        return (f'"{header}" is not of this layer: name project headers from the root, "metis/..."; '
                "apps, tests and bench are included by nobody")
    if STANDARD.fullmatch(header):
        return None
    if SYSTEM.fullmatch(header):
        if "posix" in extra:
            return None
        return (f"metis/{layer} may not include the system header <{header}>: use the C++ one (<cstdint>), "
                "or move this code to a layer that touches the system")
    return f"<{header}> is unknown: add it to LAYERS and THIRD_PARTY in scripts/tidy.py if it is meant"


def check_includes(path: str, with_literals: list[str], bare: list[str]) -> Iterator[Finding]:
    layer = layer_of(path)
    layered = path.startswith("metis/")
    if layered and layer not in LAYERS:
        yield Finding(path, 1, "layer", "metis/ holds only the layers in scripts/tidy.py's table: "
                      "add a line there, or move the file")
        return
    for number, line in enumerate(with_literals, 1):
        include = INCLUDE.match(line)
        if not include or "include" not in bare[number - 1]:  # a line of a raw string
            continue
        what = check_anywhere(path, include[2])
        if what:
            yield Finding(path, number, "include", what)
        elif layered:
            what = check_include(layer, is_test_file(path), include[1], include[2])
            if what:
                yield Finding(path, number, "layer", what)


def check_bans(path: str, with_literals: list[str], bare: list[str]) -> Iterator[Finding]:
    is_test = is_test_file(path)
    for ban in BANS:
        if not path.startswith(tuple(ban.where.split())) or path in ban.except_for.split():
            continue
        if is_test and not ban.tests_too:
            continue
        for number, line in enumerate(bare, 1):
            found = re.search(ban.pattern, line)
            if found:
                word = found[0].strip().rstrip("( ")
                yield Finding(path, number, ban.rule, f"`{word}` is banned here: {ban.way_out}")


def check_header(path: str, text: str, bare: list[str]) -> Iterator[Finding]:
    if not text.startswith(("//", "/*")):
        yield Finding(path, 1, "contract", "a header begins with a comment: what it is, who may share "
                      "it, what it costs")
    if not any(re.match(r"\s*#\s*pragma\s+once\b", line) for line in bare):
        yield Finding(path, 1, "pragma-once", "write #pragma once below the contract")


# --- text ----------------------------------------------------------------------------------------


def check_text(path: str, text: str) -> Iterator[Finding]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield Finding(path, number, "white-space", "a tab: write spaces")
        if line != line.rstrip():
            yield Finding(path, number, "white-space", "white space at the end of the line: remove it")
    if text and not text.endswith("\n"):
        yield Finding(path, len(lines), "white-space", "the last line lacks its newline: add it")
    count = text.count("\n")
    if pathlib.PurePath(path).suffix in SIZED and count > MAX_LINES:
        yield Finding(path, MAX_LINES + 1, "length",
                      f"{count} lines, at most {MAX_LINES}: a file holds one idea, split it")


def check_file(root: pathlib.Path, path: str) -> Iterator[Finding]:
    suffix = pathlib.PurePath(path).suffix
    ours = path.startswith(("metis/", "apps/"))
    if not ours and suffix not in TEXT and path != ".ci/run":
        return
    try:
        text = (root / path).read_bytes().decode()  # bytes: a carriage return must stay visible
    except UnicodeDecodeError:
        if suffix in TEXT:
            yield Finding(path, 1, "encoding", "not UTF-8: save it as UTF-8")
        return
    if suffix in TEXT or path == ".ci/run":
        yield from check_text(path, text)
    if ours:
        for number, line in enumerate(text.split("\n"), 1):
            found = UNFINISHED.search(line)
            if found:
                yield Finding(path, number, "unfinished", f"{found[0]}: do it now, or describe the limit")
        if suffix in OTHER_CPP:
            yield Finding(path, 1, "suffix", f"C++ is in .h and .cc here, where rules apply: rename {suffix}")
    if suffix in {".h", ".cc"}:
        with_literals, bare = split_code(text)
        yield from check_includes(path, with_literals, bare)
        yield from check_bans(path, with_literals, bare)
        if suffix == ".h":
            yield from check_header(path, text, bare)


# --- the same again ------------------------------------------------------------------------------


def is_of_tests(path: str) -> bool:
    return is_test_file(path) or path.startswith("tests/") or bool(re.search(r"(?:_test|/show_\w+)\.\w+$", path))


def check_repetition(root: pathlib.Path, paths: list[str]) -> Iterator[Finding]:
    """Two places of equal code, the longest run of each pair once. Indentation does not tell them apart."""
    places = {}  # of the first window of EQUAL_LINES lines with these numbers
    numbers = {}
    lines = {}
    for path in paths:
        if pathlib.PurePath(path).suffix not in CODE or is_of_tests(path):
            continue
        text = (root / path).read_bytes().decode(errors="replace")
        lines[path] = [(at, line.strip()) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
        words = [numbers.setdefault(line, len(numbers)) for _, line in lines[path]]
        end = 0  # of the run that was found last
        for i in range(len(words) - EQUAL_LINES + 1):
            window = tuple(words[i:i + EQUAL_LINES])
            other, j = places.setdefault(window, (path, i))
            if i < end or (other == path and j + EQUAL_LINES > i):
                continue
            there, here = lines[other][j:], lines[path][i:]
            length = next((n for n, (a, b) in enumerate(zip(there, here)) if a[1] != b[1]), min(len(there), len(here)))
            end = i + length
            yield Finding(path, here[0][0], "twice",
                          f"{length} lines stand at {other}:{there[0][0]}-{there[length - 1][0]} as well: "
                          "let one function serve both, in the lowest layer that fits")


# --- formatting ----------------------------------------------------------------------------------


def check_format(root: pathlib.Path, paths: list[str]) -> Iterator[Finding]:
    paths = [p for p in paths if p.endswith((".h", ".cc"))]
    if not paths:
        return
    if not shutil.which("clang-format"):
        yield Finding(".clang-format", 1, "format", "clang-format is not installed: run scripts/setup.sh, "
                      "or pass --no-format to check the rest")
        return
    command = ["clang-format", "--dry-run", "-Werror", "--style=file"]
    batches = [paths[i:i + 8] for i in range(0, len(paths), 8)]

    def run(batch):
        return subprocess.run(command + batch, cwd=root, capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, result in zip(batches, pool.map(run, batches)):
            yield from format_findings(batch, result)


def format_findings(batch: list[str], result: subprocess.CompletedProcess) -> Iterator[Finding]:
    """One finding a file: where it first differs."""
    places = re.findall(r"^(.+?):(\d+):\d+: error: .*clang-format-violations", result.stderr, re.MULTILINE)
    for path in dict.fromkeys(path for path, _ in places):
        lines = [int(line) for p, line in places if p == path]
        yield Finding(path, min(lines), "format",
                      f"differs from .clang-format in {len(lines)} place(s): run clang-format -i {path}")
    if result.returncode != 0 and not places:
        said = " ".join(result.stderr.split())
        yield Finding(batch[0], 1, "format", f"clang-format failed with {result.returncode}: {said}")


# --- the whole -----------------------------------------------------------------------------------


def check(root: pathlib.Path, formatting: bool) -> tuple[list[str], list[Finding]]:
    """The files looked at, and what was found, by path and line."""
    paths = list_files(root)
    findings = [finding for path in paths for finding in check_file(root, path)]
    findings += check_repetition(root, paths)
    if formatting:
        findings += check_format(root, paths)
    return paths, sorted(findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, metavar="DIR",
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check (default: the repository of this script)")
    parser.add_argument("--no-format", action="store_true", help="leave clang-format out")
    options = parser.parse_args()

    paths, findings = check(options.root, not options.no_format)
    if not paths:
        print(f"tidy: no files in {options.root}: is that the root of the repository?", file=sys.stderr)
        return 2
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} finding(s) in {len(paths)} files", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
