#!/usr/bin/env python3
"""Tests of tidy.py: each builds a small tree and looks at what tidy says about it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tidy

SCRIPT = pathlib.Path(tidy.__file__).resolve()

HEADER = "// A thing of value.\n#pragma once\n"
CLEAN = {
    "metis/core/ids.h": HEADER + "#include <cstdint>\n",
    "metis/core/hash.cc": '#include <xxhash.h>\n\n#include "metis/core/ids.h"\n',
    "metis/core/check.cc": 'void Die() { std::fprintf(stderr, "dead"); }\n',
    "metis/federation/community.h": HEADER + '#include <map>\n\n#include "metis/core/ids.h"\n',
    "metis/federation/community_test.cc": '#include "metis/federation/community.h"\n\n#include <gtest/gtest.h>\n',
    "metis/sim/queue.h": HEADER + '#include "metis/drivers/clock.h"\n',
    "metis/wire/codec.cc": '#include "metis/v1/model.pb.h"\n',
    "metis/store/blobs.cc": "#include <sqlite3.h>\n#include <unistd.h>\n",
    "apps/main.cc": "#include <CLI/CLI.hpp>\n#include <torch/torch.h>\n",
    "README.md": "# Metis\n",
}


class TreeTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def write(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    def findings(self, files):
        self.write(files)
        return tidy.check(self.root, formatting=False)[1]

    def expect(self, path, text, *expected):
        """Findings of this one file are exactly these (line, rule) pairs."""
        found = self.findings({path: text})
        self.assertEqual([(f.path, f.line, f.rule) for f in found], [(path, *e) for e in expected])
        (self.root / path).unlink()
        return found

    def run_script(self, *arguments, **more):
        command = [sys.executable, "-B", str(SCRIPT), "--root", str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, **more)


class Layers(TreeTest):
    def test_a_clean_tree_has_no_findings(self):
        self.assertEqual(self.findings(CLEAN), [])

    def test_federation_may_not_include_the_simulator(self):
        text = '#include <map>\n\n#include "metis/sim/queue.h"\n'
        found = self.expect("metis/federation/a.cc", text, (3, "layer"))
        self.assertIn("it may include: federation, core", found[0].what)

    def test_federation_may_include_core_alone(self):
        self.assertEqual(tidy.LAYERS["federation"], ("core", ""))
        for layer in set(tidy.LAYERS) - {"core", "federation"}:
            self.expect("metis/federation/a.cc", f'#include "metis/{layer}/a.h"\n', (1, "layer"))
        for library in set(tidy.THIRD_PARTY):
            self.expect("metis/federation/a.cc", f"#include <{library}>\n", (1, "layer"))

    def test_torch_has_one_home(self):
        torch = "#include <torch/torch.h>\n"
        self.expect("metis/train/a.cc", torch)
        self.expect("tests/e2e/a.cc", torch)
        for layer in set(tidy.LAYERS) - {"train"}:
            found = self.expect(f"metis/{layer}/a.cc", torch, (1, "layer"))
            self.assertIn("its place: metis/train", found[0].what)

    def test_quotes_do_not_smuggle_a_library_in(self):
        self.expect("metis/sim/a.cc", '#include "torch/torch.h"\n', (1, "layer"))

    def test_generated_headers_count_as_their_library(self):
        self.expect("metis/wire/a.cc", '#include "metis/v1/a.pb.h"\n')
        self.expect("metis/wire/a.cc", '#include "metis/v1/a.grpc.pb.h"\n', (1, "layer"))
        self.expect("metis/rpc/a.cc", '#include "metis/v1/a.grpc.pb.h"\n')
        self.expect("metis/federation/a.cc", '#include "metis/v1/a.pb.h"\n', (1, "layer"))

    def test_nothing_in_metis_includes_programs_or_tests(self):
        for header in ("apps/x.h", "tests/x.h", "bench/x.h", "sibling.h"):
            self.expect("metis/rpc/a.cc", f'#include "{header}"\n', (1, "layer"))

    def test_test_frameworks_are_for_tests(self):
        for header in ("gtest/gtest.h", "gmock/gmock.h"):
            self.expect("metis/core/a_test.cc", f"#include <{header}>\n")
            self.expect("metis/core/a.cc", f"#include <{header}>\n", (1, "layer"))

    def test_a_test_beside_the_code_keeps_its_layer(self):
        self.expect("metis/core/a_test.cc", '#include "metis/federation/a.h"\n', (1, "layer"))

    def test_report_writes_json_and_nothing_else_of_that_library(self):
        self.expect("metis/report/a.cc", "#include <nlohmann/json.hpp>\n")
        self.expect("metis/report/a.cc", "#include <nlohmann/ordered_map.hpp>\n", (1, "layer"))
        self.expect("metis/dashboard/a.cc", "#include <nlohmann/json.hpp>\n", (1, "layer"))

    def test_the_system_is_touched_by_few_layers(self):
        self.expect("metis/store/a.cc", "#include <sys/stat.h>\n#include <fcntl.h>\n")
        self.expect("metis/core/a.cc", "#include <unistd.h>\n", (1, "layer"))
        self.expect("metis/sim/a.cc", "#include <sys/stat.h>\n", (1, "layer"))

    def test_an_unknown_library_is_refused(self):
        self.expect("metis/store/a.cc", "#include <boost/any.hpp>\n", (1, "layer"))

    def test_a_directory_without_a_line_in_the_table_is_refused(self):
        self.expect("metis/helpers/a.cc", "int a;\n", (1, "layer"))
        self.expect("metis/a.cc", "int a;\n", (1, "layer"))

    def test_config_knows_of_other_layers_their_settings(self):
        self.expect("metis/config/a.cc", '#include "metis/rpc/settings.h"\n#include "metis/data/partition.h"\n')
        for header in ("metis/rpc/controller_server.h", "metis/sim/world.h", "metis/rpc/old/settings.h"):
            self.expect("metis/config/a.cc", f'#include "{header}"\n', (1, "layer"))

    def test_code_in_other_files_than_headers_is_not_included(self):
        self.expect("metis/federation/a.cc", '#include "metis/federation/cases.def"\n', (1, "layer"))

    def test_the_table_has_no_cycle(self):
        above = set()
        for layer, (layers, _) in tidy.LAYERS.items():
            self.assertLessEqual({each.split("/")[0] for each in layers.split()}, above, layer)
            above.add(layer)

    def test_no_way_around_through_a_directory_above(self):
        for header in ("metis/federation/../store/x.h", "metis/core/../../apps/x.h", "../core/ids.h"):
            for path in ("metis/federation/a.cc", "apps/a.cc", "tests/laws/a.cc", "bench/a.cc"):
                self.expect(path, f'#include "{header}"\n', (1, "include"))
        self.expect("metis/federation/a.cc", "#include <../fstream>\n", (1, "include"))
        self.expect("metis/federation/a.cc", '#include "metis/core/a..b.h"\n')

    def test_fixtures_are_for_tests(self):
        fixture = '#include "metis/federation/testing.h"\n'
        for path in ("metis/federation/a.cc", "metis/drivers/a.cc", "apps/a.cc", "bench/a.cc"):
            self.expect(path, fixture, (1, "include"))
        self.expect("metis/federation/a.h", HEADER + fixture, (3, "include"))
        self.expect("metis/drivers/testing.h", HEADER + fixture)
        self.expect("tests/loopback/sites.h", HEADER + fixture)
        for path in ("metis/federation/a_test.cc", "apps/a_test.cc", "tests/laws/a.cc"):
            self.expect(path, fixture)
        self.expect("metis/core/a_test.cc", fixture, (1, "layer"))

    def test_planted_bugs_are_not_for_headers(self):
        planted = '#include "metis/core/planted.h"\n'
        self.expect("metis/federation/a.cc", planted)
        self.expect("metis/federation/a.h", HEADER + planted, (3, "include"))

    def test_only_directives_are_includes(self):
        text = '// #include <torch/torch.h>\n/*\n#include <torch/torch.h>\n*/\nauto s = R"(\n#include <grpc.h>\n)";\n'
        self.expect("metis/core/a.cc", text)


class Bans(TreeTest):
    def expect_ban(self, path, code, rule):
        with self.subTest(path=path, code=code):
            found = self.expect(path, f"\n  {code}\n", (2, rule))
            self.assertIn("is banned here", found[0].what)

    def expect_allowed(self, path, code):
        with self.subTest(path=path, code=code):
            self.expect(path, f"\n  {code}\n")

    def test_the_pure_core_has_no_clock(self):
        for code in ("auto t = std::chrono::steady_clock::now();", "std::chrono::system_clock c;",
                     "using C = std::chrono::high_resolution_clock;", "time(nullptr);", "std::time(&t);",
                     "::time(x);", "gettimeofday(&tv, nullptr);", "clock_gettime(CLOCK_REALTIME, &ts);",
                     "auto t = clock();", "::clock ( );", "std::clock();", "timespec_get(&ts, TIME_UTC);"):
            self.expect_ban("metis/core/a.cc", code, "clock")
            self.expect_ban("metis/federation/a.cc", code, "clock")
            self.expect_allowed("metis/rpc/a.cc", code)
            self.expect_allowed("metis/core/a_test.cc", code)

    def test_words_that_only_look_like_a_clock_pass(self):
        for code in ("Instant time() const;", "round_time(0);", "event.time();", "Seconds(time);",
                     "host.clock();", "host->clock();", "o_clock();", "Start(clock);"):
            self.expect_allowed("metis/federation/a.cc", code)

    def test_randomness_is_keyed_everywhere_in_metis(self):
        for code in ("int x = rand();", "x = std::rand();", "srand(1);", "std::random_device d;",
                     "std::mt19937 g(1);", "std::mt19937_64 g;", "std::ranlux24 g;", "std::ranlux48_base g;",
                     "std::knuth_b g;", "x = drand48();", "x = lrand48();", "srand48(1);", "x = random();",
                     "x = ::random( );", "srandom(1);", "std::default_random_engine g;",
                     "std::mersenne_twister_engine<unsigned, 1> g;", "x = arc4random();"):
            for path in ("metis/core/a.cc", "metis/data/a.cc", "metis/sim/a_test.cc"):
                self.expect_ban(path, code, "random")
            self.expect_allowed("apps/a.cc", code)
        self.expect_allowed("metis/sim/a.cc", "Random random(key); operand(1); random.Next(); a.random();")

    def test_the_pure_core_prints_nothing(self):
        for code in ("std::cout << 1;", "std::cerr << 1;", 'printf("x");', 'std::fprintf(stderr, "x");',
                     "#include <iostream>", "std::fwrite(p, 1, 1, stdout);", 'std::perror("x");'):
            self.expect_ban("metis/core/a.cc", code, "output")
            self.expect_ban("metis/federation/check.cc", code, "output")
            self.expect_allowed("metis/core/check.cc", code)
            self.expect_allowed("metis/report/a.cc", code)
        self.expect_allowed("metis/core/a.cc", 'std::snprintf(buffer, 3, "x");')

    def test_federation_has_no_threads(self):
        for code in ("std::thread t;", "std::mutex m;", "#include <thread>", "#include <mutex>",
                     "std::atomic<int> n;", "std::shared_mutex m;", "std::jthread t;", "#include <semaphore>",
                     "#include <latch>", "#include <barrier>", "std::latch l(1);", "std::binary_semaphore s(0);",
                     "std::barrier b(2);", "std::this_thread::sleep_for(t);"):
            self.expect_ban("metis/federation/a.cc", code, "thread")
            self.expect_allowed("metis/learner/a.cc", code)

    def test_core_starts_no_threads_but_may_lock(self):
        for code in ("std::thread t;", "std::jthread t;", "#include <thread>", "#include <future>",
                     "auto f = std::async(Work);", "#include <semaphore>", "#include <latch>", "#include <barrier>",
                     "#include <condition_variable>", "std::condition_variable_any c;",
                     "std::this_thread::yield();"):
            self.expect_ban("metis/core/a.cc", code, "thread")
            self.expect_allowed("metis/core/a_test.cc", code)
        for code in ("#include <mutex>", "std::mutex m;", "std::once_flag f;", "std::atomic<int> n;"):
            self.expect_allowed("metis/core/a.cc", code)

    def test_the_pure_core_has_no_files(self):
        for code in ("#include <fstream>", 'std::ofstream f("x");', 'FILE* f = fopen("x", "r");',
                     "FILE* f = std::tmpfile();"):
            self.expect_ban("metis/federation/a.cc", code, "file")
            self.expect_ban("metis/core/a.cc", code, "file")
            self.expect_allowed("metis/store/a.cc", code)

    def test_federation_has_no_hash_order(self):
        for code in ("#include <unordered_map>", "std::unordered_set<int> s;"):
            self.expect_ban("metis/federation/a.cc", code, "hash-order")
            self.expect_allowed("metis/report/a.cc", code)

    def test_no_environment_variables(self):
        self.expect_ban("metis/report/a.cc", 'std::getenv("HOME");', "environment")
        self.expect_allowed("apps/a.cc", 'std::getenv("HOME");')

    def test_no_using_namespace_std(self):
        for code in ("using namespace std;", "using namespace ::std;", "namespace s = std;", "std ::cout << 1;"):
            self.expect_ban("apps/a.cc", code, "using-std")
        for code in ("using std::swap;", "namespace fs = std::filesystem;"):
            self.expect_allowed("apps/a.cc", code)
        self.expect_ban("metis/rpc/a_test.cc", "using  namespace  std ;", "using-std")

    def test_comments_and_strings_are_free(self):
        code = "// never time(nullptr)\n/* rand() */ int n = 1'000'000; char c = '\"'; // steady_clock\n"
        self.expect("metis/federation/a.cc", code + 'auto s = "std::cout \\" rand()";\n')

    def test_code_after_a_digit_separator_or_string_is_still_read(self):
        self.expect("metis/core/a.cc", 'int n = 1\'000; auto s = "a\\"b"; rand();\n', (1, "random"))

    def test_unfinished_work_is_found_in_comments_too(self):
        for word in ("TODO", "FIXME", "XXX"):
            for path in ("metis/sim/a.cc", "apps/a.cc", "metis/dashboard/web/a.js"):
                self.expect(path, f"\n// {word}: later\n", (2, "unfinished"))
            self.expect("docs/a.md", f"{word}\n")
        self.expect("metis/sim/a.cc", 'auto name = "/tmp/XXXXXX";\n')


class Shape(TreeTest):
    def test_files_hold_one_idea(self):
        for suffix, line in ((".cc", "int a;\n"), (".py", "a = 1\n"), (".sh", "true\n")):
            self.expect(f"tests/long{suffix}", line * 450)
            self.expect(f"tests/long{suffix}", line * 451, (451, "length"))
        self.expect("docs/long.md", "a\n" * 451)
        self.expect("tests/long.h", HEADER + "int a;\n" * 449, (451, "length"))

    def test_code_stands_once(self):
        lines = [f"  total += weights[{i}] * values[{i}];" for i in range(30)]
        function = "\n".join(lines[:20]) + "\n"
        self.write({"metis/core/one.cc": "// One.\n" + function})
        # Indentation and blank lines make no difference.
        again = "int x;\n\n" + "\n\n".join("  " + line for line in lines[:20]) + "\nint y;\n"
        found = self.expect("metis/sim/other.cc", again, (3, "twice"))
        self.assertIn("20 lines stand at metis/core/one.cc:2-21 as well", found[0].what)
        # A longer run is one finding, and so is each further place.
        self.write({"metis/core/one.cc": "\n".join(lines) + "\n"})
        self.expect("metis/sim/two.cc", "\n".join(lines) + "\n", (1, "twice"))
        self.expect("metis/wire/two.cc", "int x;\n" + "\n".join(2 * lines) + "\n", (2, "twice"), (32, "twice"))

    def test_code_may_be_alike_in_parts_and_in_tests(self):
        lines = "".join(f"  total += weights[{i}] * values[{i}];\n" for i in range(19))
        self.write({"metis/core/one.cc": lines + "  return total;\n"})
        self.expect("metis/sim/two.cc", lines + "  return 2 * total;\n")
        for path in ["metis/sim/two_test.cc", "tests/laws/two.cc", "scripts/two_test.py"]:
            self.expect(path, lines + "  return total;\n")
        self.expect("metis/sim/testing.h", HEADER + lines + "  return total;\n")
        self.expect("apps/steps.cc", 39 * "  step();\n")

    def test_a_header_begins_with_its_contract(self):
        self.expect("metis/core/a.h", "#pragma once\n// Late.\n", (1, "contract"))
        self.expect("metis/core/a.h", "/* A thing. */\n#pragma once\n")

    def test_a_header_is_included_once(self):
        self.expect("metis/core/a.h", "// A thing.\n// #pragma once\n", (1, "pragma-once"))

    def test_cpp_has_two_suffixes(self):
        for suffix in ("hpp", "cpp", "inc", "cxx", "hh", "ipp"):
            self.expect(f"metis/core/a.{suffix}", "int a;\n", (1, "suffix"))
            self.expect(f"apps/a.{suffix}", "int a;\n", (1, "suffix"))
        self.expect("metis/core/a.cmake", "set(a 1)\n")

    def test_white_space(self):
        space = (2, "white-space")
        self.expect("metis/core/a.cc", "int a;\n\tint b;\n", space)
        self.expect("docs/a.md", "a\nb \n", space)
        self.expect("docs/a.md", "a\nb\r\n", space)
        self.expect("scripts/a.sh", "true\nfalse", space)
        self.expect(".ci/run", "true\nfalse ", space, space)

    def test_sources_are_utf8(self):
        self.expect("metis/core/a.cc", b"// \xff\n", (1, "encoding"))
        self.expect("metis/dashboard/web/a.png", b"\xff\n")

    def test_products_of_a_build_are_not_looked_at(self):
        self.write(CLEAN)
        self.assertEqual(self.findings({"build/dev/a.h": "int a;", "node_modules/a.h": "int a;"}), [])

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_of_a_checkout_what_git_ignores_is_not_looked_at(self):
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write({".gitignore": "/ignored/\n", "ignored/a.h": "int a;"})
        found = self.findings({"metis/core/untracked.h": "int a;\n", "metis/core/gone.h": "int a;\n"})
        subprocess.run(["git", "-C", str(self.root), "add", "-A"], check=True)
        (self.root / "metis/core/gone.h").unlink()
        self.assertEqual({f.path for f in found}, {"metis/core/untracked.h", "metis/core/gone.h"})
        self.assertEqual({f.path for f in self.findings({})}, {"metis/core/untracked.h"})


class CommandLine(TreeTest):
    def test_findings_name_path_line_and_rule_and_fail(self):
        self.write({"metis/federation/a.cc": '\n#include "metis/sim/x.h"\n'})
        result = self.run_script("--no-format")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\Ametis/federation/a\.cc:2: layer: .*\n\Z")

    def test_a_clean_tree_passes(self):
        self.write(CLEAN)
        result = self.run_script("--no-format")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(self.run_script().returncode, 2)

    def test_a_missing_clang_format_is_said(self):
        self.write(CLEAN)
        result = self.run_script(env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("clang-format is not installed: run scripts/setup.sh", result.stdout)

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_formatting_is_checked(self):
        self.write({".clang-format": "BasedOnStyle: Google\n", "apps/a.cc": "int a;\nint   b;\nint   c;\n"})
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\Aapps/a\.cc:2: format: .*clang-format -i apps/a\.cc\n\Z")
        self.assertEqual(self.run_script("--no-format").returncode, 0)


if __name__ == "__main__":
    unittest.main()
