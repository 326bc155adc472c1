#include "metis/authority/token.h"

#include <gtest/gtest.h>

namespace metis::authority {
namespace {

Token Sample() {
  Token token;
  token.secret = "0123456789abcdef";
  token.authority = Sha256Of("an authority");
  token.role = Role::kObserver;
  token.name = "site-3.example";
  token.address = "fed.example.org:7740";
  return token;
}

TEST(Token, ReadsBackWhatWasWritten) {
  for (const char* name : {"a", "ab", "abc", "abcd"}) {  // every length of the last group
    Token token = Sample();
    token.name = name;
    EXPECT_EQ(ParseToken(FormatToken(token)).value(), token);
    token.address.clear();
    token.role = Role::kAdmin;
    EXPECT_EQ(ParseToken(FormatToken(token)).value(), token);
  }
}

TEST(Token, IsOneWordThatNoShellOrOptionParserTakesForAnythingElse) {
  const std::string text = FormatToken(Sample());
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "-_"),
            text.npos);
  EXPECT_EQ(text.front(), 'A');
  EXPECT_EQ(ParseToken(" \t" + text + "\r\n").value(), Sample());
}

TEST(Token, EveryMistypedCharacterAndEveryCutIsNoticed) {
  const std::string text = FormatToken(Sample());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = wrong[i] == 'x' ? 'y' : 'x';
    Result<Token> read = ParseToken(wrong);
    ASSERT_FALSE(read) << i;
    EXPECT_NE(read.error().message.find("mistyped"), std::string::npos) << read.error().message;
    EXPECT_FALSE(ParseToken(text.substr(0, i))) << i;
  }
  EXPECT_FALSE(ParseToken(text + "A"));
  EXPECT_FALSE(ParseToken("no token at all!"));
}

TEST(Token, NeighbouringCharactersThatAreSwappedAreNoticed) {
  const std::string text = FormatToken(Sample());
  for (size_t i = 1; i < text.size(); ++i) {
    std::string wrong = text;
    std::swap(wrong[i - 1], wrong[i]);
    if (wrong != text) {
      EXPECT_FALSE(ParseToken(wrong)) << i;
    }
  }
}

TEST(Token, RolesHaveWords) {
  for (const Role role : {Role::kLearner, Role::kObserver, Role::kAdmin}) {
    EXPECT_EQ(ParseRole(NameOf(role)).value(), role);
  }
  EXPECT_NE(ParseRole("king").error().message.find("\"king\" is no role: learner, observer"),
            std::string::npos);
}

}  // namespace
}  // namespace metis::authority
