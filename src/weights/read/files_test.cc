#include "weights/read/files.h"

#include <gtest/gtest.h>

namespace opdump::weights {
namespace {

TEST(WeightFiles, NamesSayWhatOfATrainingRunATensorIs) {
  EXPECT_EQ(owner_of("model.layers.0.weight"), TensorOwner::model);
  EXPECT_EQ(owner_of("optimizer.state.0.exp_avg"), TensorOwner::optimizer);
  EXPECT_EQ(owner_of("state.0.exp_avg"), TensorOwner::optimizer);
  EXPECT_EQ(owner_of("optimizer_states.0.state.1.step"), TensorOwner::optimizer);
  EXPECT_EQ(owner_of("ema.layers.0.weight"), TensorOwner::ema);
  EXPECT_EQ(owner_of("state_dict.model_ema.weight"), TensorOwner::ema);
  EXPECT_EQ(owner_of("lr_scheduler.last_lr"), TensorOwner::other);
  // Names of layers that only look so.
  EXPECT_EQ(owner_of("state.weight"), TensorOwner::model);
  EXPECT_EQ(owner_of("schema.weight"), TensorOwner::model);
}

}  // namespace
}  // namespace opdump::weights
