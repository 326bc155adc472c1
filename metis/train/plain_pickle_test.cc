#include "metis/train/plain_pickle.h"

#include <gtest/gtest.h>

#include "metis/core/text.h"

namespace metis::train {
namespace {

using std::string_literals::operator""s;

const std::string kClass = "ccollections\nOrderedDict\n";

// A text as pickles have it.
std::string Unicode(const std::string& text) {
  return Text("X", static_cast<char>(text.size()), "\0\0\0"s, text);
}

// What torch.save makes of OrderedDict(a=1, b=OrderedDict()) with an attribute.
std::string StateDict() {
  return "\x80\x02"s + kClass + "q\x00)Rq\x01("s + Unicode("a") + "K\x01"s + Unicode("b") +
         "h\x00)Ru}"s + Unicode("_metadata") + "Nsb."s;
}

TEST(PlainPickle, AnOrderedDictBecomesADictionaryAndAnAttributeThePairOfBoth) {
  Result<std::string> plain = PlainPickle(StateDict());
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(*plain, "\x80\x02}q\x00q\x01("s + Unicode("a") + "K\x01"s + Unicode("b") + "}u}"s +
                        Unicode("_metadata") + "N\x87\x86."s);
}

TEST(PlainPickle, TextThatLooksLikeInstructionsStaysAsItIs) {
  const std::string pickle = "\x80\x02}"s + Unicode("b" + kClass + ")R") + "N."s;
  EXPECT_EQ(*PlainPickle(pickle), pickle);
}

TEST(PlainPickle, AnotherThingOfTheSamePlaceInTheMemoIsNotTaken) {
  const std::string pickle = "\x80\x02}q\x00h\x00)t."s;
  EXPECT_EQ(*PlainPickle(pickle), pickle);
}

TEST(PlainPickle, CutOffAnywhereItFailsOrGivesABeginning) {
  const std::string whole = StateDict();
  const std::string plain = *PlainPickle(whole);
  for (size_t size = 0; size < whole.size(); ++size) {
    Result<std::string> cut = PlainPickle(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!cut || plain.starts_with(*cut)) << "cut at " << size;
  }
  EXPECT_FALSE(PlainPickle("\x80\x02X\xff\xff\xff\xff"s));
}

TEST(PlainPickle, OtherProtocolsAreRefusedWithTheirPlace) {
  Result<std::string> plain = PlainPickle("\x80\x04\x95\0\0\0\0\0\0\0\0."s);
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().message.find("offset 2 of its pickle"), std::string::npos);
  EXPECT_FALSE(PlainPickle("\x80\x02" + kClass + "."));
}

}  // namespace
}  // namespace metis::train
