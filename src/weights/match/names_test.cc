#include "weights/match/names.h"

#include <gtest/gtest.h>

namespace opdump::weights {
namespace {

TEST(WeightNames, WrappersAreNoPartOfAName) {
  for (const char* name : {"layers.0.mlp.up_proj.weight", "module.layers.0.mlp.up_proj.weight",
                           "_orig_mod.module.model.layers.0.mlp.up_proj.weight",
                           "base_model.model.model.layers.0.mlp.up_proj.base_layer.weight",
                           "state_dict.model.layers.0._fsdp_wrapped_module.mlp.up_proj.weight"})
    EXPECT_EQ(plain_name(name), "layers.0.mlp.up_proj.weight") << name;
  EXPECT_EQ(plain_name("bert.LayerNorm.gamma"), "bert.LayerNorm.weight");
  // The last word is the parameter, whatever it is called.
  EXPECT_EQ(plain_name("model"), "model");
  EXPECT_EQ(plain_name("adapter.module"), "adapter.module");
}

TEST(WeightNames, LayersHaveANumber) {
  const LayerName layer = layer_name("blocks.12.experts.3.w1.weight");
  EXPECT_EQ(layer.pattern, "blocks.#.experts.3.w1.weight");
  EXPECT_EQ(layer.layer, 12U);
  EXPECT_EQ(name_in_layer(layer.pattern, 4), "blocks.4.experts.3.w1.weight");
  EXPECT_FALSE(layer_name("norm.weight").layer);
  EXPECT_EQ(numbered_name("blocks.12.experts.3.w1.weight").pattern, "blocks.#.experts.#.w1.weight");
  EXPECT_EQ(numbered_name("blocks.12.experts.3.w1.weight").numbers, (std::vector<std::uint64_t>{12, 3}));
}

TEST(WeightNames, WordsSayWhatAWeightIsFor) {
  EXPECT_EQ(role_of("layers.0.self_attn.q_proj.weight"), WeightRole::q);
  EXPECT_EQ(role_of("h.0.attn.c_attn.weight"), WeightRole::qkv);
  EXPECT_EQ(role_of("layers.0.mlp.gate_up_proj.weight"), WeightRole::gate_up);
  EXPECT_EQ(role_of("layers.0.input_layernorm.weight"), WeightRole::norm);
  EXPECT_EQ(role_of("fc.weight"), WeightRole::none);
}

TEST(WeightNames, BuffersThatProgramsCompute) {
  EXPECT_TRUE(is_computed_buffer("model.rotary_emb.inv_freq", 1));
  EXPECT_TRUE(is_computed_buffer("h.0.attn.bias", 4));
  EXPECT_FALSE(is_computed_buffer("h.0.attn.bias", 1));  // a real one
}

}  // namespace
}  // namespace opdump::weights
