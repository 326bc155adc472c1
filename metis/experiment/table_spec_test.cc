#include "metis/experiment/table_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "metis/config/config.h"
#include "metis/experiment/testing.h"
#include "metis/policy/policy.h"

namespace metis::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

std::string Complaint(std::string text, std::string_view from, std::string_view to) {
  size_t place = text.find(from);
  EXPECT_NE(place, text.npos) << from;
  text.replace(place, from.size(), to);
  Result<TableSpec> table = ParseTableSpec(text, "small");
  return table ? "" : table.error().message;
}

TEST(TableSpec, HoldsRowsColumnsAndThePapersFigures) {
  Result<TableSpec> table = ParseTableSpec(kSmallTable, "experiments/small");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->name, "small");
  EXPECT_EQ(table->FileOf(1, 0), "experiments/small/powerlaw-iid/sync-fedavg.toml");
  ASSERT_EQ(table->measures.size(), 1u);
  EXPECT_EQ(table->measures[0].time, Duration::Seconds(40));
  EXPECT_THAT(table->measures[0].paper[0], ElementsAre(0.9, 0.8));
  EXPECT_THAT(table->measures[0].paper[1], ElementsAre(0.25, std::nullopt));
}

TEST(TableSpec, MeasuresAlsoAfterRounds) {
  std::string text(kSmallTable);
  text.replace(text.find("40s"), 3, "200 rounds");
  Result<TableSpec> table = ParseTableSpec(text, "small");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->measures[0].rounds, 200u);
  EXPECT_EQ(table->measures[0].time, std::nullopt);
}

TEST(TableSpec, SaysWhatIsWrongWithAFileAndWhere) {
  const std::string text(kSmallTable);
  EXPECT_THAT(Complaint(text, "0.9 0.8", "0.9"),
              HasSubstr("small/table.toml:19: uniform-iid has 1 figures, but there are 2 columns"));
  EXPECT_THAT(Complaint(text, "0.9 0.8", "0.9 8"), HasSubstr("\"8\" is no accuracy"));
  EXPECT_THAT(Complaint(text, "0.9 0.8", "nan 0.8"), HasSubstr("\"nan\" is no accuracy"));
  EXPECT_THAT(Complaint(text, "powerlaw-iid = ", "powerlaw-idi = "),
              HasSubstr("no key powerlaw-idi: did you mean \"powerlaw-iid\"?"));
  EXPECT_THAT(Complaint(text, "powerlaw-iid = \"0.25 -\"", ""),
              HasSubstr("lacks the figures of powerlaw-iid"));
  EXPECT_THAT(Complaint(text, "\"async-dvw\"", "\"async-dwv\""),
              HasSubstr("no policy \"async-dwv\": did you mean \"async-dvw\"?"));
  EXPECT_THAT(Complaint(text, "\"async-dvw\"", "\"sync-fedavg\""),
              HasSubstr("there is a column sync-fedavg already"));
  EXPECT_THAT(Complaint(text, "40s", "0 rounds"), HasSubstr("must be a time"));
  EXPECT_THAT(Complaint(text, "40s", "soon"), HasSubstr("soon"));
  EXPECT_THAT(Complaint(text, "id = \"uniform-iid\"", "id = \"../x\""),
              HasSubstr("must be made of letters"));
  EXPECT_THAT(Complaint(text, "[[measure]]", "[[mesure]]"),
              HasSubstr("no section mesure: did you mean \"measure\"?"));
  EXPECT_THAT(Complaint(text, "[table]", "["), HasSubstr("no TOML"));
}

TEST(ChooseRows, TakesThoseThatBeginLikeAWord) {
  TableSpec table;
  for (const char* id : {"uniform-iid", "skewed-iid", "powerlaw-iid", "powerlaw-noniid-3"}) {
    table.rows.push_back({id, id});
  }
  EXPECT_THAT(*ChooseRows(table, ""), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(*ChooseRows(table, "powerlaw"), ElementsAre(2, 3));
  EXPECT_THAT(*ChooseRows(table, "powerlaw-noniid,uniform"), ElementsAre(0, 3));
  Result<std::vector<size_t>> wrong = ChooseRows(table, "uniform,powrlaw-iid");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("powrlaw-iid fits none of uniform-iid"));
  EXPECT_THAT(wrong.error().message, HasSubstr("did you mean powerlaw-iid?"));
}

TEST(ChooseColumns, TakesPoliciesByTheirWholeNames) {
  TableSpec table;
  for (const char* policy : {"fedasync", "async-dvw", "async-dvw-adaptive"}) {
    table.columns.push_back({policy, policy});
  }
  EXPECT_THAT(*ChooseColumns(table, "async-dvw"), ElementsAre(1));
  EXPECT_THAT(*ChooseColumns(table, "async-dvw-adaptive,fedasync"), ElementsAre(0, 2));
  EXPECT_FALSE(ChooseColumns(table, "async").ok());
}

// The committed tables.

std::vector<TableSpec> Tables() {
  const std::string experiments = METIS_SOURCE_DIR "/experiments";
  std::vector<TableSpec> tables;
  const Result<std::vector<std::string>> names = TableNames(experiments);
  for (const std::string& name : *names) {
    tables.push_back(ReadTableSpec(Text(experiments, "/", name)).value());
  }
  return tables;
}

config::Config Cell(const TableSpec& table, size_t row, size_t column) {
  Result<config::Config> config = config::ReadConfig(table.FileOf(row, column));
  EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
  return config ? *config : config::DefaultConfig();
}

TEST(Experiments, HaveTheTablesOfThePaper) {
  std::vector<std::string> sizes;
  for (const TableSpec& table : Tables()) {
    sizes.push_back(Text(table.name, " ", table.rows.size(), "x", table.columns.size(), "x",
                         table.measures.size()));
  }
  EXPECT_THAT(sizes, ElementsAre("cifar10-heterogeneous 9x6x1", "cifar10-homogeneous 9x2x2",
                                 "cifar100-heterogeneous 6x4x1", "emnist-heterogeneous 3x4x1"));
}

TEST(Experiments, EveryCellHasItsFileAndNoFileIsLeftOver) {
  for (const TableSpec& table : Tables()) {
    std::set<fs::path> expected = {fs::path(table.directory) / "table.toml"};
    for (size_t row = 0; row < table.rows.size(); ++row) {
      for (size_t column = 0; column < table.columns.size(); ++column) {
        expected.insert(table.FileOf(row, column));
      }
    }
    std::set<fs::path> found;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(table.directory)) {
      if (entry.is_regular_file()) found.insert(entry.path());
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(Experiments, TheFirstLineOfACellSaysWhichItIs) {
  for (const TableSpec& table : Tables()) {
    for (size_t row = 0; row < table.rows.size(); ++row) {
      for (size_t column = 0; column < table.columns.size(); ++column) {
        std::string line;
        std::ifstream file(table.FileOf(row, column));
        std::getline(file, line);
        EXPECT_THAT(line, HasSubstr(Text(": ", table.rows[row].label, "; ",
                                         table.columns[column].label, ".")));
        EXPECT_TRUE(line.starts_with("# ")) << line;
      }
    }
  }
}

TEST(Experiments, CellsOfARowDifferOnlyInThePolicyAndWhatBelongsToIt) {
  for (const TableSpec& table : Tables()) {
    for (size_t row = 0; row < table.rows.size(); ++row) {
      const config::Config first = Cell(table, row, 0);
      for (size_t column = 0; column < table.columns.size(); ++column) {
        config::Config cell = Cell(table, row, column);
        const bool fedasync = table.columns[column].policy == "fedasync";
        EXPECT_EQ(policy::NameOf(cell.federation.policy), table.columns[column].policy);
        EXPECT_EQ(cell.training.proximal, fedasync ? 0.005 : 0);
        cell.federation.policy = first.federation.policy;
        cell.training.proximal = first.training.proximal;
        cell.federation.values.CopyGroups(first.federation.values);
        EXPECT_EQ(cell, first) << table.FileOf(row, column);
      }
    }
  }
}

TEST(Experiments, CellsOfAColumnDifferOnlyInTheDistributionOfData) {
  for (const TableSpec& table : Tables()) {
    for (size_t column = 0; column < table.columns.size(); ++column) {
      const config::Config first = Cell(table, 0, column);
      std::set<std::string> distributions;
      for (size_t row = 0; row < table.rows.size(); ++row) {
        config::Config cell = Cell(table, row, column);
        distributions.insert(
            Text(config::ValueOf(cell, "data.sizes"), " ", config::ValueOf(cell, "data.classes")));
        cell.data = first.data;
        EXPECT_EQ(cell, first) << table.FileOf(row, column);
      }
      EXPECT_EQ(distributions.size(), table.rows.size()) << "two rows are the same experiment";
    }
  }
}

// The numbers that the paper gives (section VI), and the batch time that follows from them.
TEST(Experiments, AreThoseOfThePaper) {
  for (const TableSpec& table : Tables()) {
    const config::Config cell = Cell(table, 0, 0);
    const bool homogeneous = table.name == "cifar10-homogeneous";
    EXPECT_EQ(cell.simulation.seed, 1990u);
    EXPECT_EQ(cell.federation.membership.learners, 10u);
    EXPECT_EQ(config::ValueOf(cell, "trigger.local_epochs"), "4");
    ASSERT_EQ(cell.simulation.groups.size(), homogeneous ? 1u : 2u);
    EXPECT_EQ(cell.simulation.groups[0].batch_time, Duration::Milliseconds(250));
    // 200 rounds of 4 epochs of 5,000 examples in batches of 100.
    EXPECT_EQ(200 * 4 * 50 * Duration::Milliseconds(250), Duration::Seconds(10'000));
    if (homogeneous) {
      EXPECT_EQ(cell.federation.stop.rounds, 200u);
    } else {
      EXPECT_EQ(cell.federation.stop.duration, table.measures[0].time);
      EXPECT_EQ(cell.simulation.groups[1].batch_time, Duration::Milliseconds(2500));
      EXPECT_EQ(cell.simulation.groups[1].learners, 5u);
    }
  }
}

}  // namespace
}  // namespace metis::experiment
