// The properties of an operator, without its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::model {

// The numbers are part of the C ABI (opdump_phase).
enum class Phase : std::uint8_t { forward = 0, backward = 1, optimizer = 2 };
inline constexpr std::string_view kPhaseNames[] = {"forward", "backward", "optimizer"};

// The numbers are part of the C ABI (opdump_side).
enum class Side : std::uint8_t { input = 0, output = 1 };
inline constexpr std::string_view kSideNames[] = {"input", "output"};

// The graph number of an operator that several graphs can execute.
inline constexpr std::int64_t kAnyGraph = -1;

// An operator of the program, the same in every step.
struct Operator {
  std::string type;  // "convolution"
  std::string name;  // full scoped name: "Default/conv1-Conv2d/convolution-op0"
  Phase phase = Phase::forward;
  std::int64_t graph_id = 0;
  std::int64_t stream = 0;
  std::string source_file;  // the line that calls it; empty if unknown
  int source_line = 0;
  std::uint64_t task = 0;   // its number in the program: the "task id" of CANN's file names
  std::string module = {};  // "layer1.0.conv1", where the name does not say it; else empty
  // The operators of the user's model that it replaces, if any; empty if the engine added it.
  std::optional<std::vector<std::string>> original_names = std::nullopt;
};

// Before the scope of an operator in the backward pass of a module: "Gradients/Default/conv1-Conv2d/...".
inline constexpr std::string_view kGradients = "Gradients/";

// `name` without it.
inline std::string_view without_gradients(std::string_view name) {
  return name.starts_with(kGradients) ? name.substr(kGradients.size()) : name;
}

// `name` as spelled in dump files: '/', '\', '.' and ' ' become '_' (mindspore.md 2.2). Not
// reversible.
std::string sanitise_name(std::string_view name);

// "train.py:31", or "" if unknown.
std::string format_source(const Operator& op);

}  // namespace opdump::model
