"""A federation that is joined by invitation, as its users type it: an authority, tokens, certificates, revocation.

Usage: enrol_test.py DIRECTORY_OF_THE_PROGRAMS
"""

import json
import signal
import time
import unittest

from learning import LearningTest
from network_test import ENDLESS, Member

SETTINGS = {**ENDLESS, "federation.learners": 2}


class EnrolTest(LearningTest):
    def setUp(self):
        super().setUp()
        self.done("ca", "init", "authority", "--host", "fed.example.org")

    def controller(self, stop, name="controller", listen="127.0.0.1:0"):
        settings = {**SETTINGS, **stop}
        sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        controller = Member(self, name, ["controller", "--run", "run", "--listen", listen,
                                         "--authority", "authority", *sets])
        path = self.home / "run/address"
        self.wait_until(lambda: controller.process.poll() is not None
                        or (path.exists() and path.read_text().endswith("\n")))
        self.assertIsNone(controller.process.poll(), controller.said())
        return controller, path.read_text().strip()

    def invite(self, name, address, *options, directory="authority"):
        return self.told("ca", "invite", name, "--join", address, "--dir", directory,
                         *options)["token"]

    def learner(self, k, *options, name=None):
        return Member(self, name or f"site-{k}", ["learner", "--data", "builtin", "--share", f"{k}/2",
                                                  *options])

    def state(self, name, address):
        return self.home / ".local/state/metis" / f"{name}@{address.replace(':', '-')}"

    def members(self):
        return {(each["name"], each["state"]) for each in self.told("ca", "list")}

    def audit(self):
        path = self.home / "run/audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def reasons(self):
        return [(line["name"], line["reason"]) for line in self.audit()]

    def mode(self, path):
        return path.stat().st_mode & 0o777

    def wait_said(self, member, words):
        self.wait_until(lambda: words in member.said() or member.process.poll() is not None)
        self.assertIn(words, member.said())


class WholeTest(EnrolTest):
    def test_sites_join_by_their_tokens_and_find_their_certificates_again(self):
        controller, address = self.controller({})
        tokens = [self.invite(f"site-{k}", address) for k in range(2)]
        watcher = self.invite("watcher", address, "--role", "observer")
        observer = Member(self, "watcher", ["observer", "--enrol", watcher, "--data", "builtin"])
        self.wait_said(observer, "accepted")
        learners = [self.learner(k, "--enrol", tokens[k]) for k in range(2)]
        self.wait_until(lambda: self.requests() >= 5)
        for name in ("site-0", "site-1", "watcher"):
            self.assertIn((name, "enrolled"), self.reasons())
            state = self.state(name, address)
            self.assertEqual(self.mode(state / "key.pem"), 0o600)
            self.assertFalse((state / "key.pending").exists())
        for name in ("ca.key", "controller.key", "authority.db"):
            self.assertEqual(self.mode(self.home / "authority" / name), 0o600)

        # The same command line at every start, as a supervisor does it; and none of it at all.
        learners[0].process.kill()
        learners[0].process.wait()
        learners[0] = self.learner(0, "--enrol", tokens[0], name="again-0")
        self.wait_said(learners[0], "connected to")
        learners[1].process.kill()
        learners[1].process.wait()
        several = self.refusal("learner", "--data", "builtin")
        self.assertIn("several certificates were enrolled here", several)
        learners[1] = self.learner(1, "--name", "site-1", name="again-1")
        self.wait_said(learners[1], "connected to")

        self.done("stop", "run")
        self.assertIn("finished", controller.end())
        for member in [observer, *learners]:
            member.end()
        self.assertEqual(self.members(), {("site-0", "enrolled"), ("site-1", "enrolled"),
                                          ("watcher", "enrolled")})
        self.assertNotIn("trying again", "".join(each.said() for each in learners))
        self.assertEqual(sum(reason == "enrolled" for _, reason in self.reasons()), 3)

    def test_a_site_waits_for_a_controller_that_is_not_there_yet(self):
        first, address = self.controller({})
        first.process.send_signal(signal.SIGINT)
        first.end()
        site = self.learner(0, "--enrol", self.invite("site-0", address))
        self.wait_said(site, "trying again in")
        controller, _ = self.controller({}, name="second", listen=address)
        self.wait_said(site, "connected to")
        controller.process.send_signal(signal.SIGINT)
        controller.end()


class RevokedTest(EnrolTest):
    def test_its_live_stream_ends_and_the_others_go_on(self):
        controller, address = self.controller({})
        learners = [self.learner(k, "--enrol", self.invite(f"site-{k}", address)) for k in range(2)]
        self.wait_until(lambda: self.requests() >= 5)
        begin = time.monotonic()
        self.assertIn("is revoked", self.done("ca", "revoke", "site-1"))
        said = learners[1].end(code=1)
        print(f"the revoked learner has ended {time.monotonic() - begin:.2f} s after the command")
        self.assertIn("has sent us away: the certificate of site-1", said)
        self.assertIn("was revoked", said)
        self.assertIn(("site-1", "revoked"), self.reasons())
        self.assertIn(("site-1", "revoked"), self.members())

        again = self.learner(1, name="again").end(code=1)  # with what it has
        self.assertIn("several certificates", again)
        again = self.learner(1, "--name", "site-1", name="by-name").end(code=1)
        self.assertIn("can't be joined: the certificate of site-1", again)

        seen = self.requests()
        self.wait_until(lambda: self.requests() >= seen + 5)
        self.assertIsNone(learners[0].process.poll(), learners[0].said())

        # A new invitation, in the same place, and it is back.
        back = self.learner(1, "--enrol", self.invite("site-1", address), name="back")
        self.wait_said(back, "connected to")
        controller.process.send_signal(signal.SIGINT)
        controller.end()

    def test_only_whom_the_authority_knows(self):
        self.assertIn("nobody was ever invited as \"site-7\"", self.refusal("ca", "revoke", "site-7"))
        self.assertIn("metis ca invite NAME", self.done("ca", "list"))


class AdminTest(EnrolTest):
    def test_operates_from_afar_and_a_learner_does_not(self):
        controller, address = self.controller({})
        learners = [self.learner(k, "--enrol", self.invite(f"site-{k}", address)) for k in range(2)]
        self.done("ca", "enrol", self.invite("alice", address, "--role", "admin"))
        self.wait_until(lambda: self.requests() >= 5)

        state = self.state("site-0", address)
        tls = ["--ca", state / "ca.pem", "--certificate", state / "certificate.pem", "--key",
               state / "key.pem"]
        for command in (["status"], ["pause"], ["stop"], ["withdraw", "site-1"],
                        ["export", "--out", "stolen.metis"]):
            said = self.refusal(*command, "--join", address, *tls)
            self.assertIn("site-0 may not operate this federation", said)
        self.assertFalse((self.home / "stolen.metis").exists())
        refused = [line for line in self.audit() if line["reason"] == "role"]
        self.assertEqual([line["name"] for line in refused], ["site-0"] * 5)
        seen = self.requests()
        self.wait_until(lambda: self.requests() >= seen + 5)  # neither paused nor stopped

        # The administrator's certificate is found by itself.
        self.wait_until(lambda: {each["name"] for each in self.told("status", "--join", address)["participants"]}
                        == {"site-0", "site-1"})
        self.done("stop", "--join", address)
        self.assertIn(("alice", "command"), self.reasons())
        controller.end()
        for learner in learners:
            learner.end()


class RefusedTest(EnrolTest):
    def setUp(self):
        super().setUp()
        self.process, self.address = self.controller({})

    def refused(self, token, words, *options, reason=None, program="learner"):
        """Refused in these words, audited, and nothing has changed."""
        members, audited = self.members(), len(self.audit())
        before = self.requests()
        said = self.refusal(program, "--enrol", token, "--data", "builtin", *options)
        self.assertIn(words, said)
        self.assertEqual(self.members(), members)
        self.assertEqual(self.requests(), before)
        states = self.home / ".local/state/metis"
        self.assertFalse([path for path in states.glob("*/certificate.pem")])
        if reason:
            self.assertEqual([line["reason"] for line in self.audit()[audited:]], [reason])
            self.assertIn("127.0.0.1", self.audit()[-1]["peer"])
        else:
            self.assertEqual(len(self.audit()), audited)

    def test_tokens_that_are_not_good(self):
        token = self.invite("site-0", self.address)
        self.refused(token[:-1] + ("A" if token[-1] != "A" else "B"), "mistyped")
        self.refused(token[:40], "mistyped or cut off")
        self.refused(token, "--name site-1: the invitation is for \"site-0\"", "--name", "site-1")
        self.refused(token, "use it with `metis learner --enrol`", program="observer")
        self.refused(token, "leave --ca, --certificate, --key", "--insecure")
        admin = self.invite("alice", self.address, "--role", "admin")
        self.refused(admin, "use it with `metis ca enrol TOKEN`")

        short = self.invite("site-0", self.address, "--valid", "1s")
        self.wait_until(lambda: ("site-0", "lapsed") in self.members())
        self.refused(short, "has expired", reason="enrol-expired")

        self.done("ca", "init", "other")
        stranger = self.invite("site-0", self.address, directory="other")
        self.refused(stranger, "not of the federation that the token invites to")

        self.done("ca", "revoke", "site-0")
        self.refused(token, "was withdrawn", reason="enrol-withdrawn")

    def test_a_used_token_is_good_for_nobody_else(self):
        token = self.invite("alice", self.address, "--role", "admin")
        enrolled = self.done("ca", "enrol", token)
        self.assertIn("has the role admin", enrolled)
        state = self.state("alice", self.address)
        self.assertEqual(self.mode(state / "key.pem"), 0o600)
        self.done("ca", "enrol", token)  # again: it has it
        thief = self.refusal("ca", "enrol", token, "--state", "elsewhere")
        self.assertIn("has been used", thief)
        self.assertIn(("alice", "enrol-used"), self.reasons())
        self.assertFalse((self.home / "elsewhere/certificate.pem").exists())

        # An administrator is no learner.
        tls = ["--ca", state / "ca.pem", "--certificate", state / "certificate.pem", "--key",
               state / "key.pem"]
        said = self.refusal("learner", "--join", self.address, "--data", "builtin", "--state", "x", *tls)
        self.assertIn("is for the role admin, not learner", said)
        self.assertIn(("alice", "role"), self.reasons())

    def test_mistakes_at_the_authority(self):
        self.assertIn("is no role", self.refusal("ca", "invite", "x", "--role", "king", code=2))
        self.assertIn("--valid", self.refusal("ca", "invite", "x", "--valid", "never", code=2))
        self.assertIn("--join", self.refusal("ca", "invite", "x", "--join", "nowhere", code=2))
        self.assertIn("is no name", self.refusal("ca", "invite", "a b"))
        self.assertIn("metis ca init", self.refusal("ca", "invite", "x", "--dir", "nowhere"))
        self.assertIn("is no host", self.refusal("ca", "init", "third", "--host", "a b"))
        self.assertIn("metis ca init", self.refusal("controller", "--run", "none", "--authority",
                                                    "nowhere"))
        self.assertIn("leave --ca", self.refusal("controller", "--run", "none", "--authority",
                                                 "authority", "--insecure"))
        self.assertIn("say all of them with --host", self.metis("ca", "init", "authority").stderr)
        self.assertIn("stays as it is", self.done("ca", "init", "authority", "--host", "127.0.0.1"))
        self.assertEqual(self.members(), set())


if __name__ == "__main__":
    unittest.main()
