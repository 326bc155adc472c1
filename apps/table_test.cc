#include "apps/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace metis::apps {
namespace {

std::string Printed(const Table& table, bool styled = false) {
  std::ostringstream out;
  table.Print(out, styled);
  return out.str();
}

TEST(Table, AlignsWordsLeftAndNumbersRight) {
  Table table({{"policy"}, {"requests", Align::kRight}, {"note"}});
  table.AddRow({"async-dvw", "7", "best"});
  table.AddRow({"fedasync", "1234567890", ""});
  EXPECT_EQ(Printed(table),
            "policy       requests  note\n"
            "async-dvw           7  best\n"
            "fedasync   1234567890\n");
}

TEST(Table, HasNoHeaderWithoutTitles) {
  Table table({{""}, {""}});
  table.AddRow({"learners", "10"});
  EXPECT_EQ(Printed(table), "learners  10\n");
}

TEST(Table, KeepsTheColumnsOfAnEmptyCell) {
  Table table({{"a"}, {"b", Align::kRight}, {"c"}});
  table.AddRow({"", "", "x"});
  table.AddRow({"yy", "22", "z"});
  EXPECT_EQ(Printed(table), "a    b  c\n        x\nyy  22  z\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({{"gruppe"}, {"n", Align::kRight}});
  table.AddRow({"zürich", "1"});
  EXPECT_EQ(Printed(table), "gruppe  n\nzürich  1\n");
}

TEST(Table, OnlyATerminalGetsABoldHeader) {
  Table table({{"a"}});
  table.AddRow({"1"});
  EXPECT_EQ(Printed(table, true), "\x1b[1ma\x1b[0m\n1\n");
  EXPECT_EQ(Printed(table, false), "a\n1\n");
}

TEST(Table, ARowOfTheWrongLengthIsABrokenInvariant) {
  Table table({{"a"}, {"b"}});
  EXPECT_DEATH(table.AddRow({"1"}), "cells.size\\(\\) == columns_.size\\(\\)");
}

}  // namespace
}  // namespace metis::apps
