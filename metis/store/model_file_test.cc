#include "metis/store/model_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "metis/core/testing.h"
#include "metis/core/text.h"

namespace metis::store {
namespace {

namespace fs = std::filesystem;

class ModelFiles : public FileTest {
 protected:
  ModelFiles() {
    SchemaPtr schema =
        *ModelSchema::Create({{"conv.weight", {3, 2}}, {"conv.bias", {3}}, {"scale", {}}});
    ModelPool pool(schema);
    std::vector<float> values = {1.5F, -0.0F, 3e-42F, 4, 5,
                                 6,    7,     8,      9, std::numeric_limits<float>::max()};
    model_ = pool.Copy(values);
  }

  std::string Bytes(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Put(const std::string& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  ModelPtr model_;
};

TEST_F(ModelFiles, ReadBackBitForBitWithTheirFacts) {
  const ModelFacts facts = {{"architecture", "mlp:3"}, {"note", "any text\n\"quoted\""}};
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), facts, *model_));
  Result<ModelFile> read = ReadModelFile(Path("a.metis"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->facts, facts);
  EXPECT_EQ(read->model->schema()->tensors(), model_->schema()->tensors());
  EXPECT_EQ(read->model->Fingerprint(), model_->Fingerprint());
}

TEST_F(ModelFiles, ValuesBeginAtAMultipleOf64AsThePageSays) {
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), {{"k", "v"}}, *model_));
  const std::string bytes = Bytes(Path("a.metis"));
  EXPECT_EQ(bytes.substr(0, 8), "metismdl");
  const size_t values = bytes.size() - model_->bytes().size();
  EXPECT_EQ(values % 64, 0U);
  EXPECT_EQ(bytes.substr(values), std::string(reinterpret_cast<const char*>(model_->bytes().data()),
                                              model_->bytes().size()));
}

TEST_F(ModelFiles, WritingReplacesTheOldFileAndLeavesNothingElse) {
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), {{"age", "old"}}, *model_));
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), {{"age", "new"}}, *model_));
  EXPECT_EQ(ReadModelFile(Path("a.metis"))->facts.at("age"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()), 1);
}

TEST_F(ModelFiles, AnyChangedByteIsNoticed) {
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), {{"architecture", "mlp:3"}}, *model_));
  const std::string good = Bytes(Path("a.metis"));
  const size_t values = good.size() - model_->bytes().size();
  size_t unnoticed = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    Put(Path("b.metis"), bad);
    if (ReadModelFile(Path("b.metis"))) {
      ++unnoticed;
      // The reserved field and the padding carry nothing.
      EXPECT_TRUE((i >= 12 && i < 16) || (i > 48 && i < values && bad[i] == 0x40)) << i;
    }
  }
  EXPECT_LT(unnoticed, 70U);
}

TEST_F(ModelFiles, AnyCutIsNoticedAndNamed) {
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), {}, *model_));
  const std::string good = Bytes(Path("a.metis"));
  for (size_t size = 0; size < good.size(); ++size) {
    Put(Path("b.metis"), good.substr(0, size));
    Result<ModelFile> read = ReadModelFile(Path("b.metis"));
    ASSERT_FALSE(read) << size;
    EXPECT_TRUE(read.error().message.starts_with(Path("b.metis") + ": ")) << read.error().message;
  }
}

TEST_F(ModelFiles, AHugePromiseTakesNoMemory) {
  ASSERT_TRUE(WriteModelFile(Path("a.metis"), {}, *model_));
  std::string bytes = Bytes(Path("a.metis"));
  for (size_t field : {16U, 24U}) {  // header bytes, parameters
    std::string bad = bytes;
    for (size_t i = 0; i < 8; ++i) bad[field + i] = '\x7F';
    Put(Path("b.metis"), bad);
    Result<ModelFile> read = ReadModelFile(Path("b.metis"));
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("cut off or damaged"), std::string::npos);
  }
}

TEST_F(ModelFiles, OtherFilesAreToldApart) {
  Put(Path("weights.pt"), std::string(100, 'P'));
  EXPECT_EQ(ReadModelFile(Path("weights.pt")).error().message,
            Path("weights.pt") +
                ": this is no model file of Metis; a .pt file is brought in with "
                "`metis model import`");
  EXPECT_NE(ReadModelFile(Path("absent")).error().message.find("No such file"), std::string::npos);
  EXPECT_FALSE(ReadModelFile(directory().string()));
}

TEST_F(ModelFiles, AFactNeedsAName) {
  EXPECT_FALSE(WriteModelFile(Path("a.metis"), {{"two words", "x"}}, *model_));
  EXPECT_FALSE(fs::exists(Path("a.metis")));
}

TEST_F(ModelFiles, ADirectoryThatCannotBeWrittenIsSaid) {
  Result<void> written = WriteModelFile(Path("no/such/a.metis"), {}, *model_);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("creating it failed"), std::string::npos);
}

}  // namespace
}  // namespace metis::store
