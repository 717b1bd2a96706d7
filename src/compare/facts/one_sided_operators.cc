#include "compare/facts/one_sided_operators.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "model/dtype.h"
#include "model/operator_traits.h"
#include "model/shape.h"

namespace opdump::compare {
namespace {

using dump::Runs;

std::optional<std::uint32_t> operand(const nlohmann::ordered_json& arguments, const char* name) {
  const auto found = arguments.find(name);
  if (found == arguments.end() || !found->is_object()) return std::nullopt;
  const auto index = found->find("tensor");
  if (index == found->end() || !index->is_number_unsigned()) return std::nullopt;
  return index->get<std::uint32_t>();
}

// "it adds 0.01 x input.1 to input.0"; empty where the factor is 1 or unknown.
std::string describe_sum(const dump::OperatorRun& run) {
  if (run.form == nullptr || !model::has_trait(run.type, model::Trait::adds_scaled)) return {};
  const auto arguments = nlohmann::ordered_json::parse(run.form->arguments, nullptr, false);
  if (!arguments.is_object() || !arguments.contains("alpha")) return {};
  const auto first = operand(arguments, "self"), second = operand(arguments, "other");
  const nlohmann::ordered_json& alpha = arguments["alpha"];
  if (!first || !second || !alpha.is_number() || alpha == 1) return {};
  return "it adds " + alpha.dump() + " × input." + std::to_string(*second) + " to input." +
         std::to_string(*first);
}

// What an operator reads and makes.
struct Sizes {
  std::vector<model::Shape> inputs;  // of floating numbers
  std::optional<model::Shape> output;
};

Sizes sizes_of(const Runs& runs, std::uint32_t index) {
  Sizes sizes;
  for (const dump::Slot& slot : runs.slots(index)) {
    if (!slot.shape || !model::is_floating(slot.dtype)) continue;
    if (slot.side == model::Side::input)
      sizes.inputs.push_back(*slot.shape);
    else if (!sizes.output)
      sizes.output = slot.shape;
  }
  return sizes;
}

std::uint64_t count_of(const model::Shape& shape) { return model::element_count(shape).value_or(0); }

bool makes_square(const model::Shape& a, const model::Shape& b, const model::Shape& made) {
  const std::uint64_t n = count_of(a);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  return n > 1 && n < kMost && count_of(b) == n && count_of(made) == n * n;
}

bool is_elementwise(std::string_view type) {
  return model::has_trait(type, model::Trait::adds_elements) ||
         model::has_trait(type, model::Trait::scales_elements);
}

std::string describe(const Runs& runs, std::uint32_t index, const model::Shape& a, const model::Shape& b,
                     const model::Shape& made, std::string_view side) {
  const dump::OperatorRun run = runs.without_slots(index);
  const std::string source = run.op == nullptr ? std::string() : describe_source(*run.op);
  return format_shape(a) + " and " + format_shape(b) + " are broadcast to " + format_shape(made) + " in " +
         std::string(side) + " only, by " + one_line(operator_name(run)) +
         (source.empty() ? "" : " at " + one_line(source));
}

std::set<std::string> optimizers_of(const Runs& runs, std::span<const std::uint32_t> indices) {
  constexpr std::string_view kScope = "/optimizer-";
  std::set<std::string> names;
  for (const std::uint32_t index : indices) {
    const dump::OperatorRun run = runs.without_slots(index);
    if (run.op == nullptr || run.op->phase != model::Phase::optimizer) continue;
    const std::string_view name = run.op->name;
    const std::size_t begin = name.find(kScope);
    if (begin == std::string_view::npos) continue;
    const std::string_view rest = name.substr(begin + kScope.size());
    names.emplace(rest.substr(0, rest.find('/')));
  }
  return names;
}

}  // namespace

std::string only_in(std::string_view side, const dump::OperatorRun& run) {
  const std::string sum = describe_sum(run);
  return "only in " + std::string(side) + (sum.empty() ? "" : " (" + sum + ")");
}

std::vector<std::string> describe_broadcast(const Runs& runs, std::span<const std::uint32_t> single,
                                            std::string_view side) {
  std::optional<Sizes> expanded;  // of the operator before, which repeats what it reads
  for (const std::uint32_t index : single) {
    const dump::OperatorRun run = runs.without_slots(index);
    const bool is_view = kind_of(run.type).role == OperatorRole::moves;
    if (!is_view && !is_elementwise(run.type)) {
      expanded.reset();
      continue;
    }
    Sizes sizes = sizes_of(runs, index);
    const std::vector<model::Shape>& inputs = sizes.inputs;
    if (!sizes.output) continue;
    if (!is_view && inputs.size() == 2 && makes_square(inputs[0], inputs[1], *sizes.output))
      return {describe(runs, index, inputs[0], inputs[1], *sizes.output, side)};
    if (!is_view || inputs.size() != 1 || count_of(*sizes.output) <= count_of(inputs[0])) continue;
    if (expanded && expanded->output == sizes.output && expanded->inputs[0] != inputs[0] &&
        makes_square(expanded->inputs[0], inputs[0], *sizes.output))
      return {describe(runs, index, expanded->inputs[0], inputs[0], *sizes.output, side)};
    expanded = std::move(sizes);
  }
  return {};
}

std::vector<std::string> describe_optimizers(const Runs& golden, std::span<const std::uint32_t> only_golden,
                                             const Runs& actual, std::span<const std::uint32_t> only_actual) {
  const auto g = optimizers_of(golden, only_golden), a = optimizers_of(actual, only_actual);
  if (g.size() != 1 || a.size() != 1 || *g.begin() == *a.begin()) return {};
  return {"the optimizer is " + one_line(*g.begin()) + " in golden and " + one_line(*a.begin()) +
          " in actual"};
}

}  // namespace opdump::compare
