#include "metis/train/script_network.h"

#include <gtest/gtest.h>
#include <torch/script.h>

#include <fstream>
#include <thread>

#include "metis/data/testing.h"
#include "metis/train/pt_file.h"
#include "metis/train/testing.h"

namespace metis::train {
namespace {

namespace jit = torch::jit;

// What torch.jit.script makes of a small module; `body` computes y from x.
jit::Module Scripted(const std::string& body) {
  jit::Module module("Scripted");
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(5);
  const auto drawn = [&](at::IntArrayRef shape) {  // a leaf that wants a gradient, as in Python
    return (at::randn(shape, generator) * 0.05).requires_grad_(true);
  };
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("hidden", drawn({16, 64}), false);
  module.register_parameter("out", drawn({3, 16}), false);
  module.define("def forward(self, x):\n" + body);
  return module;
}

const char* const kPlain =
    "  h = torch.relu(torch.matmul(torch.flatten(x, 1), self.hidden.t()))\n"
    "  return torch.matmul(h, self.out.t())\n";
const char* const kDropout =
    "  h = torch.relu(torch.matmul(torch.flatten(x, 1), self.hidden.t()))\n"
    "  h = torch.dropout(h, 0.5, self.training)\n"
    "  return torch.matmul(h, self.out.t())\n";

class Scripts : public data::FileTest {
 protected:
  std::string Save(const std::string& body) {
    Scripted(body).save(Path("module.pt"));
    return "torchscript:" + Path("module.pt");
  }
  std::string Complaint(const std::string& name) {
    Result<ArchitecturePtr> made = Architecture::For(name, *set_);
    return made ? "none" : made.error().message;
  }

  std::shared_ptr<const data::Dataset> set_ = Squares({1, 8, 8}, 3, 30);
};

uint64_t FingerprintAfter(learner::Trainer& trainer, uint64_t epochs) {
  for (uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    METIS_CHECK(trainer.TrainEpoch({1, epoch}, {}).ok());
  }
  return (*trainer.Snapshot())->Fingerprint();
}

TEST_F(Scripts, BeginWithTheValuesOfTheFileAndLearn) {
  Bench bench(Save(kPlain), set_, {.learning_rate = 0.1, .batch_size = 10});
  const at::Tensor hidden = Scripted(kPlain).attr("hidden").toTensor();
  ASSERT_EQ(bench.architecture->schema()->tensors()[0].name, "hidden");
  EXPECT_EQ(bench.initial->tensor(0)[17], hidden.data_ptr<float>()[17]);
  const double before = bench.Evaluate(bench.initial).loss;
  FingerprintAfter(*bench.trainer, 20);
  EXPECT_LT(bench.Evaluate(*bench.trainer->Snapshot()).loss, 0.7 * before);
}

TEST_F(Scripts, DropoutGivesTheSameBitsAloneAndBesideAnother) {
  Bench bench(Save(kDropout), set_, {.learning_rate = 0.1, .batch_size = 10});
  const uint64_t alone = FingerprintAfter(*bench.trainer, 3);
  Bench plain(Save(kPlain), set_, {.learning_rate = 0.1, .batch_size = 10});
  EXPECT_NE(alone, FingerprintAfter(*plain.trainer, 3));  // it did drop something
  uint64_t first = 0;
  std::jthread left([&] { first = FingerprintAfter(*bench.Make(0), 3); });
  std::jthread right([&] { FingerprintAfter(*bench.Make(1), 6); });
  left.join();
  right.join();
  EXPECT_EQ(first, alone);
  // Evaluation drops nothing.
  EXPECT_EQ(bench.Evaluate(bench.initial).loss, bench.Evaluate(bench.initial).loss);
}

TEST_F(Scripts, GiveTheSameBitsHoweverOftenAnInstanceRanBefore) {
  Bench bench(Save(kPlain), set_, {.learning_rate = 0.1, .batch_size = 3});
  const uint64_t first = FingerprintAfter(*bench.trainer, 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(FingerprintAfter(*bench.Make(0), 1), first);
}

TEST_F(Scripts, AreRefusedWithAReason) {
  std::ofstream(Path("module.pt")) << "no module";
  EXPECT_NE(Complaint("torchscript:" + Path("module.pt")).find("reading the TorchScript module"),
            std::string::npos);
  EXPECT_NE(Complaint(Save("  return torch.flatten(x, 1)\n"))
                .find("the module gives 2x64 values of Float, not 2x3 scores of Float"),
            std::string::npos);
  EXPECT_NE(Complaint(Save("  return torch.matmul(x, self.hidden)\n")).find(Path("module.pt")),
            std::string::npos);
  jit::Module doubles = Scripted(kPlain);
  doubles.to(at::kDouble);
  doubles.save(Path("module.pt"));
  EXPECT_NE(Complaint("torchscript:" + Path("module.pt")).find("parameter hidden is Double"),
            std::string::npos);
}

TEST_F(Scripts, PtFilesGoThereAndBack) {
  Bench bench(Save(kPlain), set_, {});
  ASSERT_TRUE(WritePt(Path("out.pt"), *bench.initial));
  Result<std::vector<PtTensor>> read = ReadPt(Path("out.pt"));
  ASSERT_TRUE(read) << read.error().message;
  Result<ModelPtr> model = FitTo(*read, bench.pool);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->Fingerprint(), bench.initial->Fingerprint());
  // A scripted module can be read for its values, too.
  EXPECT_EQ((*FitTo(*ReadPt(Path("module.pt")), bench.pool))->Fingerprint(),
            bench.initial->Fingerprint());
}

TEST_F(Scripts, PtFilesThatDoNotFitAreNamed) {
  Bench bench(Save(kPlain), set_, {});
  std::vector<PtTensor> tensors = *ReadPt(Path("module.pt"));
  auto missing = tensors, extra = tensors, bent = tensors;
  missing.pop_back();
  extra.push_back({{"more", {1}}, {0}});
  bent[0].spec.shape = {64, 16};
  EXPECT_NE(FitTo(missing, bench.pool).error().message.find("tensor out is missing"),
            std::string::npos);
  EXPECT_NE(FitTo(extra, bench.pool).error().message.find("tensor more of the file has no place"),
            std::string::npos);
  EXPECT_NE(FitTo(bent, bench.pool).error().message.find("tensor hidden is 64x16"),
            std::string::npos);
  EXPECT_FALSE(ReadPt(Path("absent.pt")));
  std::ofstream(Path("bad.pt")) << "rubbish";
  EXPECT_NE(ReadPt(Path("bad.pt")).error().message.find("torch.save(model.state_dict(), path)"),
            std::string::npos);
}

}  // namespace
}  // namespace metis::train
