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

std::string Complaint(const std::string& text, std::string_view from, std::string_view to) {
  Result<TableSpec> table = ParseTableSpec(Changed(text, from, to), "small");
  return table ? "" : table.error().message;
}

// What is wrong with the first cell.
std::string CellComplaint(std::string_view from, std::string_view to) {
  Result<TableSpec> table = ParseTableSpec(Changed(kSmallTable, from, to), "small");
  EXPECT_TRUE(table.ok()) << (table ? "" : table.error().message);
  Result<config::Config> config = CellConfig(*table, 0, 0);
  return config ? "" : config.error().message;
}

TEST(TableSpec, HoldsRowsColumnsAndThePapersFigures) {
  Result<TableSpec> table = ParseTableSpec(kSmallTable, "experiments/small");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->name, "small");
  EXPECT_EQ(table->file(), "experiments/small/table.toml");
  ASSERT_EQ(table->measures.size(), 1u);
  EXPECT_EQ(table->measures[0].time, Duration::Seconds(40));
  EXPECT_THAT(table->measures[0].paper[0], ElementsAre(0.9, 0.8));
  EXPECT_THAT(table->measures[0].paper[1], ElementsAre(0.25, std::nullopt));
}

TEST(TableSpec, MeasuresAlsoAfterRounds) {
  Result<TableSpec> table =
      ParseTableSpec(Changed(kSmallTable, "at = \"40s\"", "at = \"200 rounds\""), "small");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->measures[0].rounds, 200u);
  EXPECT_EQ(table->measures[0].time, std::nullopt);
}

TEST(TableSpec, SaysWhatIsWrongWithAFileAndWhere) {
  const std::string text(kSmallTable);
  EXPECT_THAT(Complaint(text, "0.9 0.8", "0.9"),
              HasSubstr("small/table.toml:23: uniform-iid has 1 figures, but there are 2 columns"));
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
  EXPECT_THAT(Complaint(text, "at = \"40s\"", "at = \"0 rounds\""), HasSubstr("must be a time"));
  EXPECT_THAT(Complaint(text, "at = \"40s\"", "at = \"soon\""), HasSubstr("soon"));
  EXPECT_THAT(Complaint(text, "id = \"uniform-iid\"", "id = \"../x\""),
              HasSubstr("must be made of letters"));
  EXPECT_THAT(Complaint(text, "[[measure]]", "[[mesure]]"),
              HasSubstr("no section mesure: did you mean \"measure\"?"));
  EXPECT_THAT(Complaint(text, "[table]", "["), HasSubstr("no TOML"));
}

TEST(CellConfig, IsTheCommonOneChangedByTheRowThenByTheColumn) {
  std::string text = Changed(kSmallTable, "[stop]\n",
                             "[training]\nlearning_rate = 0.25\nmomentum = 0.5\n"
                             "[[group]]\nname = \"only\"\nbatch_time = \"3s\"\n[stop]\n");
  text = Changed(text, "label = \"SyncFedAvg\"",
                 "label = \"SyncFedAvg\"\ngroup.only.batch_time = \"7s\"\n"
                 "training.momentum = 0.75\ndata.faulty = \"0:labels=random\"");
  text = Changed(text, "data.sizes = \"powerlaw\"",
                 "data.sizes = \"powerlaw\"\ntraining.momentum = 0.625\n"
                 "training.batch_size = 7");
  const TableSpec table = ParseTableSpec(text, "small").value();
  const config::Config both = CellConfig(table, 1, 0).value();
  EXPECT_EQ(config::ValueOf(both, "federation.policy"), "sync-fedavg");
  EXPECT_EQ(config::ValueOf(both, "data.sizes"), "powerlaw:1.5");
  EXPECT_EQ(config::ValueOf(both, "data.faulty"), "0:labels=random");
  EXPECT_EQ(both.training.learning_rate, 0.25);
  EXPECT_EQ(both.training.momentum, 0.75) << "the column has the last word";
  EXPECT_EQ(both.training.batch_size, 7u);
  ASSERT_EQ(both.simulation.groups.size(), 1u);
  EXPECT_EQ(both.simulation.groups[0].batch_time, Duration::Seconds(7));
  const config::Config neither = CellConfig(table, 0, 1).value();
  EXPECT_EQ(neither.training.momentum, 0.5);
  EXPECT_EQ(neither.simulation.groups[0].batch_time, Duration::Seconds(3));
  EXPECT_EQ(CellConfig(table, 0, 1, {{"training.momentum", "0.125", "--scale"}})->training.momentum,
            0.125);
}

TEST(CellConfig, SaysWhichLineOfTheTableIsWrong) {
  EXPECT_THAT(CellComplaint("\"40s\"", "\"soon\""),
              HasSubstr("small/table.toml:5: duration = \"soon\": "));
  EXPECT_THAT(CellComplaint("data.sizes = \"uniform\"", "data.sizes = \"unifrom\""),
              HasSubstr("small/table.toml:15: sizes = \"unifrom\": "));
  EXPECT_THAT(CellComplaint("data.sizes = \"uniform\"", "data.size = 3"),
              HasSubstr("small/table.toml:15: unknown key \"size\" in [data]"));
  EXPECT_THAT(CellComplaint("data.sizes = \"uniform\"", "group.fats.batch_time = \"3s\""),
              HasSubstr("small/table.toml:15: there is no group \"fats\""));
}

TEST(CellConfig, ARowSetsKeysOfAConfigurationOnly) {
  const std::string text(kSmallTable);
  EXPECT_THAT(Complaint(text, "data.sizes = \"uniform\"", "sizes = \"uniform\""),
              HasSubstr("small/table.toml:15: [row] has no key sizes"));
  EXPECT_THAT(Complaint(text, "data.sizes = \"uniform\"", "data.sizes = [1, 2]"),
              HasSubstr("small/table.toml:15: data.sizes = an array: must be a text"));
  EXPECT_THAT(Complaint(text, "[stop]", "[stpo]"), HasSubstr("no section stpo: did you mean"));
}

TEST(FindRow, TakesItsWholeNameAndNamesTheNearest) {
  const TableSpec table = ParseTableSpec(kSmallTable, "small").value();
  EXPECT_EQ(FindRow(table, "powerlaw-iid").value(), 1u);
  EXPECT_EQ(FindColumn(table, "async-dvw").value(), 1u);
  Result<size_t> wrong = FindRow(table, "powerlaw-idi");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "the table small has no row \"powerlaw-idi\": did you mean \"powerlaw-iid\"? (rows: "
            "uniform-iid, powerlaw-iid)");
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
  Result<config::Config> config = CellConfig(table, row, column);
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
        EXPECT_EQ(cell, first) << table.name << " " << table.rows[row].id << " " << column;
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
        EXPECT_EQ(cell, first) << table.name << " " << table.rows[row].id << " " << column;
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
      EXPECT_EQ(cell.federation.test.every_commits, 1u);
    } else {
      EXPECT_EQ(cell.federation.stop.duration, table.measures[0].time);
      EXPECT_EQ(cell.simulation.groups[1].batch_time, Duration::Milliseconds(2500));
      EXPECT_EQ(cell.simulation.groups[1].learners, 5u);
    }
  }
}

TEST(Experiments, HaveTheNetworksAndRatesOfThePaper) {
  std::vector<std::string> rates;
  for (const TableSpec& table : Tables()) {
    const config::Config cell = Cell(table, 0, 0);
    rates.push_back(Text(cell.source.dataset, " ", cell.training.model, " ",
                         cell.training.learning_rate, " ", cell.training.momentum, " ",
                         cell.training.batch_size));
  }
  EXPECT_THAT(rates,
              ElementsAre("cifar10 cifar10-cnn 0.05 0.75 100", "cifar10 cifar10-cnn 0.05 0.75 100",
                          "cifar100 resnet-cifar:50 0.1 0.9 128",
                          "emnist-byclass femnist-cnn 0.01 0.5 100"));
}

// The values of one cell of each kind, as a reader of the paper would write them down.
TEST(Experiments, SetWhatAPolicyAndADistributionNeed) {
  const std::string experiments = METIS_SOURCE_DIR "/experiments";
  const TableSpec table = FindTable(experiments, "cifar10-heterogeneous").value();
  const auto values = [&](const char* row, const char* policy,
                          const std::vector<const char*>& keys) {
    const config::Config cell =
        Cell(table, FindRow(table, row).value(), FindColumn(table, policy).value());
    std::vector<std::string> found;
    for (const char* key : keys) found.push_back(config::ValueOf(cell, key));
    return found;
  };
  EXPECT_THAT(values("powerlaw-noniid-3", "fedasync",
                     {"federation.policy", "data.sizes", "data.classes", "fedasync.alpha",
                      "fedasync.staleness_exponent", "training.proximal", "stop.duration"}),
              ElementsAre("fedasync", "powerlaw:1.5", "noniid:8x1,4x1,3x8", "0.5", "0.5", "0.005",
                          "14000s"));
  EXPECT_THAT(values("powerlaw-noniid-5", "async-dvw",
                     {"federation.policy", "data.classes", "training.proximal"}),
              ElementsAre("async-dvw", "noniid:8x1,7x1,6x1,5x7", "0"));
  EXPECT_THAT(values("skewed-noniid-3", "sync-fedavg",
                     {"federation.protocol", "federation.weighting", "data.sizes", "data.classes"}),
              ElementsAre("synchronous", "training-examples", "skewed", "noniid:3"));
  const std::string adaptive =
      config::FormatConfig(Cell(table, FindRow(table, "uniform-iid").value(),
                                FindColumn(table, "async-dvw-adaptive").value()));
  const size_t slow = adaptive.find("name = \"slow\"");
  ASSERT_NE(slow, adaptive.npos);
  EXPECT_THAT(adaptive.substr(0, slow), HasSubstr("vc_loss_pct = 0\nvc_tombstones = 4\n"));
  EXPECT_THAT(adaptive.substr(slow), HasSubstr("vc_loss_pct = 1\nvc_tombstones = 1\n"));
}

}  // namespace
}  // namespace metis::experiment
