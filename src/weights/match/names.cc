#include "weights/match/names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text/text.h"

namespace opdump::weights {
namespace {

// Anywhere in a name, and at its start.
constexpr std::string_view kWrappers[] = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
                                          "module", "base_layer"};
constexpr std::string_view kPrefixes[] = {"model",
                                          "base_model",
                                          "state_dict",
                                          "net",
                                          "network",
                                          "model_state_dict",
                                          "model_state",
                                          "params",
                                          "parameters",
                                          "transformer",
                                          "ema_model",
                                          "ema",
                                          "model_ema",
                                          "state_dict_ema",
                                          "ema_state_dict",
                                          "optimizer",
                                          "optimizer_state_dict",
                                          "optim",
                                          "optimizer_states",
                                          "optimizer_state"};
struct LeafWord {
  std::string_view old, today;
};
constexpr LeafWord kLeaves[] = {{"gamma", "weight"},
                                {"beta", "bias"},
                                {"kernel", "weight"},
                                {"moving_mean", "running_mean"},
                                {"moving_variance", "running_var"}};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

struct RoleWord {
  std::string_view word;
  WeightRole role;
};
constexpr RoleWord kRoles[] = {
    {"q_proj", WeightRole::q},
    {"k_proj", WeightRole::k},
    {"v_proj", WeightRole::v},
    {"query", WeightRole::q},
    {"key", WeightRole::k},
    {"value", WeightRole::v},
    {"wq", WeightRole::q},
    {"wk", WeightRole::k},
    {"wv", WeightRole::v},
    {"to_q", WeightRole::q},
    {"to_k", WeightRole::k},
    {"to_v", WeightRole::v},
    {"q_lin", WeightRole::q},
    {"k_lin", WeightRole::k},
    {"v_lin", WeightRole::v},
    {"q", WeightRole::q},
    {"k", WeightRole::k},
    {"v", WeightRole::v},
    {"qkv_proj", WeightRole::qkv},
    {"qkv", WeightRole::qkv},
    {"wqkv", WeightRole::qkv},
    {"c_attn", WeightRole::qkv},
    {"query_key_value", WeightRole::qkv},
    {"in_proj_weight", WeightRole::qkv},
    {"in_proj_bias", WeightRole::qkv},
    {"in_proj", WeightRole::qkv},
    {"to_qkv", WeightRole::qkv},
    {"linear_qkv", WeightRole::qkv},
    {"kv_proj", WeightRole::kv},
    {"kv", WeightRole::kv},
    {"to_kv", WeightRole::kv},
    {"wkv", WeightRole::kv},
    {"o_proj", WeightRole::o},
    {"out_proj", WeightRole::o},
    {"wo", WeightRole::o},
    {"to_out", WeightRole::o},
    {"gate_proj", WeightRole::gate},
    {"gate", WeightRole::gate},
    {"w1", WeightRole::gate},
    {"up_proj", WeightRole::up},
    {"up", WeightRole::up},
    {"w3", WeightRole::up},
    {"down_proj", WeightRole::down},
    {"down", WeightRole::down},
    {"w2", WeightRole::down},
    {"gate_up_proj", WeightRole::gate_up},
    {"gate_up", WeightRole::gate_up},
    {"w13", WeightRole::gate_up},
    {"embed_tokens", WeightRole::embedding},
    {"wte", WeightRole::embedding},
    {"wpe", WeightRole::embedding},
    {"tok_embeddings", WeightRole::embedding},
    {"word_embeddings", WeightRole::embedding},
    {"embedding", WeightRole::embedding},
    {"embeddings", WeightRole::embedding},
    {"embed", WeightRole::embedding},
    {"emb", WeightRole::embedding},
    {"token_embedding", WeightRole::embedding},
    {"lm_head", WeightRole::head},
    {"head", WeightRole::head},
    {"output", WeightRole::head},
    {"embed_out", WeightRole::head},
};

}  // namespace

std::string plain_name(std::string_view name) {
  std::string plain;
  bool is_start = true;
  const auto parts = split(name, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    const bool is_last = i + 1 == parts.size();
    if (!is_last && is_one_of(part, kWrappers)) continue;
    if (!is_last && is_start && is_one_of(part, kPrefixes)) continue;
    is_start = false;
    if (is_last)
      for (const LeafWord& word : kLeaves)
        if (part == word.old) part = word.today;
    plain.append(plain.empty() ? "" : ".").append(part);
  }
  return plain;
}

LayerName layer_name(std::string_view name) {
  LayerName layer;
  for (const std::string_view part : split(name, '.')) {
    const bool is_layer = !layer.layer && is_digits(part);
    if (is_layer) layer.layer = parse_uint64(part);
    layer.pattern.append(layer.pattern.empty() ? "" : ".").append(is_layer ? "#" : part);
  }
  return layer;
}

NumberedName numbered_name(std::string_view name) {
  NumberedName numbered;
  for (const std::string_view part : split(name, '.')) {
    const auto number = is_digits(part) ? parse_uint64(part) : std::nullopt;
    if (number) numbered.numbers.push_back(*number);
    numbered.pattern.append(numbered.pattern.empty() ? "" : ".").append(number ? "#" : part);
  }
  return numbered;
}

std::string name_in_layer(std::string_view pattern, std::optional<std::uint64_t> layer) {
  std::string name(pattern);
  if (const std::size_t at = name.find('#'); at != std::string::npos && layer)
    name.replace(at, 1, std::to_string(*layer));
  return name;
}

WeightRole role_of(std::string_view name) {
  const auto parts = split(name, '.');
  for (std::size_t i = parts.size(); i-- > 0;) {
    const std::string part = to_lower(parts[i]);
    for (const RoleWord& known : kRoles)
      if (part == known.word) return known.role;
    if (part.find("norm") != std::string::npos || part.starts_with("ln_") || part == "ln1" || part == "ln2")
      return WeightRole::norm;
  }
  return WeightRole::none;
}

std::string_view leaf_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string_view parent_of(std::string_view name) {
  const std::size_t end = name.rfind('.');
  return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

bool is_computed_buffer(std::string_view name, std::size_t rank) {
  constexpr std::string_view kBuffers[] = {"inv_freq",  "position_ids", "masked_bias", "num_batches_tracked",
                                           "freqs_cis", "cos_cached",   "sin_cached",  "original_inv_freq"};
  const std::string_view leaf = leaf_of(name);
  return is_one_of(leaf, kBuffers) || (rank == 4 && name.ends_with("attn.bias"));
}

}  // namespace opdump::weights
