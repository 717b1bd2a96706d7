// What names of parameters have in common although they were given by different programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::weights {

// `name` without what wrappers put in front or between ("module.", "_orig_mod.", "model.",
// "base_model.model.", "state_dict."), and with today's words for "gamma", "beta", "kernel".
std::string plain_name(std::string_view name);

// A name whose first number is "#", and the number: "layers.#.mlp.up_proj.weight" and 3.
struct LayerName {
  std::string pattern;
  std::optional<std::uint64_t> layer;
};
LayerName layer_name(std::string_view name);
std::string name_in_layer(std::string_view pattern, std::optional<std::uint64_t> layer);

// A name with "#" for each number: "layers.#.experts.#.w1.weight", and the numbers.
struct NumberedName {
  std::string pattern;
  std::vector<std::uint64_t> numbers;
};
NumberedName numbered_name(std::string_view name);

// What a weight is for, by the usual words for it.
enum class WeightRole : std::uint8_t {
  none,
  q,
  k,
  v,
  qkv,
  kv,
  o,
  gate,
  up,
  gate_up,
  down,
  norm,
  embedding,
  head
};
WeightRole role_of(std::string_view name);

// "weight" of "a.b.weight", and "a.b".
std::string_view leaf_of(std::string_view name);
std::string_view parent_of(std::string_view name);

// Buffers that programs compute by themselves, whether a checkpoint has them or not: "inv_freq".
bool is_computed_buffer(std::string_view name, std::size_t rank);

}  // namespace opdump::weights
