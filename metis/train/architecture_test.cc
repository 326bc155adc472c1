#include "metis/train/architecture.h"

#include <gtest/gtest.h>

#include <cmath>

namespace metis::train {
namespace {

ArchitecturePtr Make(const std::string& name, const data::Shape& shape, uint32_t classes,
                     bool share_statistics = true) {
  Result<ArchitecturePtr> made = Architecture::Create({name, shape, classes, share_statistics});
  METIS_CHECK_MSG(made.ok(), made.error().message);
  return *made;
}

std::string Complaint(const std::string& name, const data::Shape& shape, uint32_t classes) {
  Result<ArchitecturePtr> made = Architecture::Create({name, shape, classes});
  return made ? "none" : made.error().message;
}

TEST(Architecture, HasTheParametersOfThePaper) {
  EXPECT_EQ(Make("mnist-cnn", {1, 28, 28}, 10)->trained_parameters(), 215370U);
  EXPECT_EQ(Make("cifar10-cnn", {3, 32, 32}, 10)->trained_parameters(), 1068298U);
  EXPECT_EQ(Make("femnist-cnn", {1, 28, 28}, 62)->trained_parameters(), 6603710U);
}

// As published: He et al. give 0.27, 0.85 and 1.7 million for 20, 56 and 110 layers with shortcuts
// that have no parameters; those here that change shape have a 1x1 convolution each. torchvision's
// ResNet-50 has 25,557,032.
TEST(Architecture, ResidualNetworksHaveThePublishedSizes) {
  EXPECT_EQ(Make("resnet50", {3, 224, 224}, 1000)->trained_parameters(), 25557032U);
  const size_t shortcuts = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64;
  EXPECT_EQ(Make("resnet-cifar:20", {3, 32, 32}, 10)->trained_parameters(), 269722U + shortcuts);
  EXPECT_EQ(Make("resnet-cifar:50", {3, 32, 32}, 100)->trained_parameters(), 764404U);
  EXPECT_EQ(Make("resnet-cifar:56", {3, 32, 32}, 10)->trained_parameters(), 853018U + shortcuts);
}

TEST(Architecture, SharesStatisticsOnlyWhenAsked) {
  const auto shared = Make("resnet-cifar:8", {3, 32, 32}, 10);
  const auto local = Make("resnet-cifar:8", {3, 32, 32}, 10, false);
  EXPECT_TRUE(shared->has_statistics());
  EXPECT_EQ(local->schema()->parameters(), local->trained_parameters());
  EXPECT_GT(shared->schema()->parameters(), shared->trained_parameters());
  EXPECT_EQ(shared->trained_parameters(), local->trained_parameters());
  for (const TensorSpec& tensor : shared->schema()->tensors()) {
    EXPECT_EQ(tensor.name.find("num_batches"), std::string::npos);
  }
}

TEST(Architecture, TheInitialModelFollowsFromTheSeedAlone) {
  const auto architecture = Make("mnist-cnn", {1, 28, 28}, 10);
  ModelPool pool(architecture->schema());
  const ModelPtr first = architecture->Initial(pool, 1990);
  EXPECT_EQ(first->Fingerprint(), architecture->Initial(pool, 1990)->Fingerprint());
  EXPECT_NE(first->Fingerprint(), architecture->Initial(pool, 1991)->Fingerprint());
  // conv1.weight is uniform in +-1/sqrt(25).
  float largest = 0;
  double sum = 0;
  for (float value : first->tensor(0)) {
    largest = std::max(largest, std::abs(value));
    sum += static_cast<double>(value);
  }
  EXPECT_LT(largest, 0.2F);
  EXPECT_GT(largest, 0.19F);
  EXPECT_NEAR(sum / 400, 0, 0.02);
}

TEST(Architecture, BatchNormalisationBeginsAsTheIdentity) {
  const auto architecture = Make("resnet-cifar:8", {3, 32, 32}, 10);
  ModelPool pool(architecture->schema());
  const ModelPtr model = architecture->Initial(pool, 1);
  const auto& tensors = architecture->schema()->tensors();
  ASSERT_EQ(tensors[1].name, "bn1.weight");
  ASSERT_EQ(tensors[4].name, "bn1.running_var");
  EXPECT_EQ(model->tensor(1)[0], 1);
  EXPECT_EQ(model->tensor(2)[0], 0);
  EXPECT_EQ(model->tensor(3)[0], 0);
  EXPECT_EQ(model->tensor(4)[0], 1);
}

TEST(Architecture, SuitsOtherShapesAndClasses) {
  EXPECT_EQ(Make("logistic", {1, 1, 30}, 3)->trained_parameters(), 30 * 3 + 3U);
  EXPECT_EQ(Make("mlp:5,4", {1, 1, 30}, 3)->trained_parameters(),
            30 * 5 + 5 + 5 * 4 + 4 + 4 * 3 + 3U);
  EXPECT_NE(Make("mnist-cnn", {3, 32, 32}, 100), nullptr);
}

TEST(Architecture, SaysWhatIsWrongAndTheWayOut) {
  EXPECT_NE(Complaint("mnist-cn", {1, 28, 28}, 10).find("did you mean \"mnist-cnn\"?"),
            std::string::npos);
  EXPECT_EQ(Complaint("resnet-cifar:51", {3, 32, 32}, 10),
            "resnet-cifar:51: the depth must be 6n+2: 8, 14, 20, 32, 44, 50, 56, 110");
  EXPECT_NE(Complaint("resnet-cifar:x", {3, 32, 32}, 10).find("\"x\" is no depth"),
            std::string::npos);
  EXPECT_NE(Complaint("mlp:12,", {1, 1, 5}, 2).find("\"\" is no number of units"),
            std::string::npos);
  EXPECT_NE(Complaint("mlp:0", {1, 1, 5}, 2).find("\"0\" is no number of units"),
            std::string::npos);
  EXPECT_NE(Complaint("mlp:", {1, 1, 5}, 2).find("there is no model \"mlp:\""), std::string::npos);
  EXPECT_NE(Complaint("cifar10-cnn", {1, 28, 20}, 10).find("at least 24x24"), std::string::npos);
  EXPECT_NE(Complaint("logistic", {1, 1, 5}, 1).find("at least 2"), std::string::npos);
  EXPECT_NE(Complaint("torchscript:none.pt", {1, 1, 5}, 2).find("there is no such file"),
            std::string::npos);
}

}  // namespace
}  // namespace metis::train
