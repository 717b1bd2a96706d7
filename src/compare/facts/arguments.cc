#include "compare/facts/arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/facts/integer_operators.h"
#include "compare/wiring/content.h"
#include "model/dtype.h"

namespace opdump::compare {
namespace {

using nlohmann::ordered_json;

constexpr double kRounding = 1e-6;  // relative; a program that computes an argument may round it

// The largest number of a type, or the lowest: programs write it for infinity.
bool is_extreme(double x) {
  constexpr model::DType kTypes[] = {model::DType::float16, model::DType::bfloat16, model::DType::float32,
                                     model::DType::float64};
  return std::ranges::any_of(kTypes,
                             [&](model::DType dtype) { return model::largest_number(dtype) == std::abs(x); });
}

// Infinity, or what programs write for it in masks, such as -1e9.
bool stands_for_infinity(double x) {
  constexpr double kLeast = 1e4;
  return std::abs(x) >= kLeast;
}

bool is_close(double a, double b) {
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b))
    return stands_for_infinity(a) && stands_for_infinity(b) && std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b)) ||
         (is_extreme(a) && is_extreme(b) && std::signbit(a) == std::signbit(b));
}

// A number of the program that became a tensor.
std::string constant_of(const ordered_json& value) {
  return value.is_object() && value.contains("constant") && value["constant"].is_string()
             ? value["constant"].get<std::string>()
             : "";
}

std::string show(const ordered_json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("float") && value["float"].is_string())
    return value["float"].get<std::string>();
  if (const std::string constant = constant_of(value); !constant.empty()) return constant;
  if (value.is_object()) return "a tensor";
  const auto is_tensor = [](const ordered_json& one) { return one.is_object() && one.contains("tensor"); };
  if (value.is_array() && !value.empty() && std::ranges::all_of(value, is_tensor))
    return counted(value.size(), "tensor");
  return json_text(value);
}

bool is_same_constant(const std::string& a, const std::string& b) {
  char* end_a = nullptr;
  char* end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  const bool are_numbers = end_a != a.c_str() && *end_a == '\0' && end_b != b.c_str() && *end_b == '\0';
  return a == b || (are_numbers && is_close(x, y));
}

// Says whether a value is a type of elements or of memory, which follows from where and in which precision a
// program runs.
bool is_type(const ordered_json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("torch.");
}

// ONNX has 0 and 1 for False and True.
bool is_countable(const ordered_json& value) { return value.is_number() || value.is_boolean(); }

double number_of(const ordered_json& value) {
  return value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>();
}

bool is_same(const ordered_json& golden, const ordered_json& actual) {
  if (is_type(golden) && is_type(actual)) return true;
  if (is_countable(golden) && is_countable(actual)) return is_close(number_of(golden), number_of(actual));
  if (golden.is_array() && actual.is_array())
    return golden.size() == actual.size() &&
           std::equal(golden.begin(), golden.end(), actual.begin(),
                      [](const auto& g, const auto& a) { return is_same(g, a); });
  // A log of DebugMode has the number, and a recording the tensor.
  if (golden.is_object() != actual.is_object() && golden.is_array() == actual.is_array())
    return is_same_constant(show(golden), show(actual));
  const bool is_tensor = golden.is_object() && golden.contains("tensor");
  if (is_tensor && actual.is_object() && actual.contains("tensor"))
    return is_same_constant(constant_of(golden), constant_of(actual));
  return golden == actual;
}

// `arguments` with the names of `schema` where a log of DebugMode has positions: "7" is the eighth one.
ordered_json with_names(ordered_json arguments, const ordered_json& schema) {
  ordered_json named = ordered_json::object();
  for (auto& [name, value] : arguments.items()) {
    const auto position = parse_uint64(name);
    const bool is_known = position && !schema.contains(name) && *position < schema.size();
    named[is_known ? std::next(schema.begin(), static_cast<std::ptrdiff_t>(*position)).key() : name] =
        std::move(value);
  }
  return named;
}

// It has positions for names of arguments.
bool is_log(const dump::OperatorRun& run) { return run.op != nullptr && !run.op->has_full_scope; }

// "Relu" of the function "onnx::Relu.14"; empty if it is none of ONNX's own.
std::string_view onnx_type(const dump::OperatorRun& run) {
  constexpr std::string_view kDomain = "onnx::";
  const std::string_view function = run.form->function;
  return function.starts_with(kDomain) ? function.substr(kDomain.size(), function.rfind('.') - kDomain.size())
                                       : std::string_view();
}

// The name of an operator of ONNX does not tell its type, as that of PyTorch does. QLinearConv is a Conv.
bool is_another_operator(const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  const std::string_view g = onnx_type(golden), a = onnx_type(actual);
  return golden.name == actual.name && !g.empty() && !a.empty() && g != a &&
         serves_integers(golden) == serves_integers(actual);
}

std::string input_name(const ordered_json& tensor) {
  return "input." + show(tensor["tensor"]) + " is the constant ";
}

// 6 of "input.6", what graphs of MindSpore have as numbers: its dumps have them as inputs, too.
std::optional<std::uint32_t> index_of_number(std::string_view name) {
  constexpr std::string_view kInput = "input.";
  const auto index = name.starts_with(kInput) ? parse_uint64(name.substr(kInput.size())) : std::nullopt;
  return index && *index <= UINT32_MAX ? std::optional(static_cast<std::uint32_t>(*index)) : std::nullopt;
}

// A key of the state of a call; empty if it has none.
std::string state_of(const dump::CallForm& form, const char* key) {
  if (form.state.empty()) return {};
  const ordered_json state = parse_ordered_json(form.state);
  const auto found = state.is_object() ? state.find(key) : state.end();
  return found != state.end() && found->is_string() ? found->get<std::string>() : "";
}

// Whether a list of numbers is the shape of the first output. -1 stands for any extent.
bool is_size(const ordered_json& value, const dump::OperatorRun& run) {
  const auto output = std::ranges::find_if(
      run.slots, [](const dump::Slot& slot) { return slot.side == model::Side::output && slot.shape; });
  if (output == run.slots.end() || !value.is_array() || value.size() != output->shape->rank()) return false;
  for (std::size_t axis = 0; axis < value.size(); ++axis)
    if (!value[axis].is_number_integer() || (value[axis] != -1 && value[axis] != (*output->shape)[axis]))
      return false;
  return true;
}

// Products of the extents by which an input of the two executions differs, golden's and actual's.
std::vector<std::pair<std::int64_t, std::int64_t>> other_extents(const dump::Slot& golden,
                                                                 const dump::OperatorRun& actual) {
  constexpr std::size_t kMost = 64;
  std::vector<std::pair<std::int64_t, std::int64_t>> products;
  const auto other = std::ranges::find_if(actual.slots, [&](const dump::Slot& slot) {
    return slot.side == golden.side && slot.index == golden.index && slot.shape;
  });
  if (other == actual.slots.end() || other->shape->rank() != golden.shape->rank()) return products;
  for (std::size_t axis = 0; axis < golden.shape->rank() && products.size() < kMost; ++axis) {
    const std::int64_t g = (*golden.shape)[axis], a = (*other->shape)[axis];
    if (g == a) continue;
    for (std::size_t i = products.size(); i-- > 0;)
      products.emplace_back(products[i].first * g, products[i].second * a);
    products.emplace_back(g, a);
  }
  return products;
}

// Whether an operator of one run made the number that the program of the other run passes: a tensor of one
// element.
bool is_made_number(const ordered_json& made, const dump::OperatorRun& maker, const ordered_json& passed) {
  const std::string constant = constant_of(passed);
  if (constant.empty() || !made.is_object() || !constant_of(made).empty() || !made.contains("tensor") ||
      !made["tensor"].is_number_unsigned())
    return false;
  const auto numbers = read_numbers(maker, model::Side::input, made["tensor"].get<std::uint32_t>(), 1);
  return numbers && numbers->values.size() == 1 &&
         is_close(numbers->values.front(), std::strtod(constant.c_str(), nullptr));
}

// Whether a tensor of so many elements is given another form, in both runs, and they have other numbers of
// elements.
bool is_reshaped(const dump::Slot& golden, const dump::OperatorRun& run, const dump::OperatorRun& actual) {
  const auto count = [](const dump::OperatorRun& of, model::Side side, std::uint32_t index) {
    const auto slot = std::ranges::find_if(
        of.slots, [&](const dump::Slot& one) { return one.side == side && one.index == index && one.shape; });
    return slot == of.slots.end() ? std::nullopt : model::element_count(*slot->shape);
  };
  const auto g = count(run, model::Side::input, golden.index),
             a = count(actual, model::Side::input, golden.index);
  return g && a && *g != *a && g == count(run, model::Side::output, 0) &&
         a == count(actual, model::Side::output, 0);
}

// A size that differs as the input does, as that of a view of a larger batch.
bool follows_from_input(const ordered_json& value, const ordered_json& other, const dump::OperatorRun& golden,
                        const dump::OperatorRun& actual) {
  if (value.is_number_integer() && other.is_number_integer()) {
    const std::pair both(value.get<std::int64_t>(), other.get<std::int64_t>());
    return std::ranges::any_of(golden.slots, [&](const dump::Slot& slot) {
      if (slot.side != model::Side::input || !slot.shape) return false;
      const auto extents = other_extents(slot, actual);
      return std::ranges::find(extents, both) != extents.end();
    });
  }
  if (!is_size(value, golden) || !is_size(other, actual)) return false;
  return std::ranges::any_of(golden.slots, [&](const dump::Slot& slot) {
    if (slot.side != model::Side::input || !slot.shape) return false;
    if (is_reshaped(slot, golden, actual)) return true;
    if (value.size() != other.size()) return false;
    const auto extents = other_extents(slot, actual);
    const auto explains = [&](std::int64_t g, std::int64_t a) {
      return g == a || std::ranges::any_of(extents, [&](const auto& pair) {
               return g > 0 && a > 0 && g * pair.second == a * pair.first;
             });
    };
    for (std::size_t axis = 0; axis < value.size(); ++axis)
      if (!explains(value[axis].get<std::int64_t>(), other[axis].get<std::int64_t>())) return false;
    return true;
  });
}

// Whether two operators read tensors of other forms first: an axis of one means nothing to the other.
bool have_other_forms(const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  const auto first = [](const dump::OperatorRun& run) {
    return std::ranges::find_if(run.slots, [](const dump::Slot& slot) {
      return slot.side == model::Side::input && slot.shape.has_value();
    });
  };
  const auto g = first(golden), a = first(actual);
  return g != golden.slots.end() && a != actual.slots.end() && *g->shape != *a->shape;
}

// The most axes of its tensors: unsqueeze counts those of its result.
std::int64_t rank_of(const dump::OperatorRun& run) {
  std::int64_t rank = 0;
  for (const dump::Slot& slot : run.slots)
    if (slot.shape) rank = std::max(rank, static_cast<std::int64_t>(slot.shape->rank()));
  return rank;
}

// An axis that one program counts from the front, and the other from the end: 2 is -1 of a tensor with three
// axes.
bool is_same_axis(std::string_view name, const ordered_json& value, const ordered_json& other,
                  const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  if (!name.starts_with("dim") && !name.ends_with("_dim") && name != "axis") return false;
  if (have_other_forms(golden, actual)) return true;
  const auto from_end = [](const ordered_json& axis, const dump::OperatorRun& run) {
    const auto number = axis.get<std::int64_t>();
    return number < 0 ? number : number - rank_of(run);
  };
  const auto are_same = [&](const ordered_json& a, const ordered_json& b) {
    return a.is_number_integer() && b.is_number_integer() && from_end(a, golden) == from_end(b, actual);
  };
  if (!value.is_array()) return are_same(value, other);
  return other.is_array() && value.size() == other.size() &&
         std::equal(value.begin(), value.end(), other.begin(), are_same);
}

// Lists with other numbers of tensors that become one tensor of the same shape: the parts of a batch are
// other ones.
bool are_joined_alike(const ordered_json& value, const ordered_json& other, const dump::OperatorRun& golden,
                      const dump::OperatorRun& actual) {
  const auto is_list = [](const ordered_json& argument) {
    return argument.is_array() && !argument.empty() &&
           std::ranges::all_of(argument, [](const ordered_json& one) { return one.contains("tensor"); });
  };
  const auto shape_of = [](const dump::OperatorRun& run) {
    std::optional<model::Shape> shape;
    for (const dump::Slot& slot : run.slots) {
      if (slot.side != model::Side::output) continue;
      if (shape) return std::optional<model::Shape>();
      shape = slot.shape;
    }
    return shape;
  };
  const auto shape = is_list(value) && is_list(other) ? shape_of(golden) : std::nullopt;
  return shape && shape == shape_of(actual);
}

}  // namespace

std::optional<ArgumentDifference> find_argument_difference(const dump::OperatorRun& golden,
                                                           const dump::OperatorRun& actual,
                                                           const ArgumentSides& sides) {
  constexpr std::array<std::string_view, 7> kPlace = {
      "dtype", "device", "layout", "pin_memory", "memory_format", "non_blocking", "generator"};
  if (golden.form == nullptr || actual.form == nullptr || is_rewritten_by_engine(&golden, &actual))
    return std::nullopt;
  if (is_another_operator(golden, actual))
    return ArgumentDifference{.text = "another operator: " + golden.type + " " + sides.golden + " and " +
                                      actual.type + " " + sides.actual,
                              .is_type = true,
                              .constants = {}};
  if (golden.form->arguments == actual.form->arguments) return std::nullopt;
  ordered_json g = parse_ordered_json(golden.form->arguments);
  ordered_json a = parse_ordered_json(actual.form->arguments);
  if (!g.is_object() || !a.is_object()) return std::nullopt;
  if (is_log(golden) && !is_log(actual)) g = with_names(std::move(g), a);
  if (is_log(actual) && !is_log(golden)) a = with_names(std::move(a), g);
  // Overloads pass the same in different arguments: a size, or a scale.
  const bool are_overloads = golden.form->function != actual.form->function;
  ArgumentDifference difference;
  for (const auto& [name, value] : g.items()) {
    const auto other = a.find(name);
    if (other == a.end() || (are_overloads && (value.is_null() || other->is_null())) ||
        std::ranges::find(kPlace, name) != kPlace.end() || is_same(value, *other) ||
        is_same_axis(name, value, *other, golden, actual) || (sides.are_shards && value.is_array()) ||
        follows_from_input(value, *other, golden, actual) || is_made_number(value, golden, *other) ||
        is_made_number(*other, actual, value) || are_joined_alike(value, *other, golden, actual))
      continue;
    if (!difference.text.empty()) difference.text += ", ";
    const std::string constant = constant_of(value), other_constant = constant_of(*other);
    if (constant.empty() || other_constant.empty()) {
      if (const auto index = index_of_number(name)) difference.constants.insert(*index);
      difference.text += (parse_uint64(name) ? "argument " : "") + name + " is " + show(value) + " " +
                         sides.golden + " and " + show(*other) + " " + sides.actual;
      continue;
    }
    difference.text +=
        input_name(value) + constant + " " + sides.golden + " and " + other_constant + " " + sides.actual;
    if (value["tensor"].is_number_unsigned())
      difference.constants.insert(value["tensor"].get<std::uint32_t>());
  }
  if (difference.text.empty()) return std::nullopt;
  return difference;
}

bool is_rewritten_by_engine(const dump::OperatorRun* golden, const dump::OperatorRun* actual) {
  return golden != nullptr && actual != nullptr &&
         (golden->originals() != nullptr) != (actual->originals() != nullptr);
}

StateDifference find_state_difference(const dump::CallForm* golden, const dump::CallForm* actual) {
  StateDifference difference;
  if (golden == nullptr || actual == nullptr || golden->state == actual->state) return difference;
  const std::string g = state_of(*golden, "autocast"), a = state_of(*actual, "autocast");
  if (g != a)
    difference.autocast = "autocast is " + (g.empty()   ? a + " in actual only"
                                            : a.empty() ? g + " in golden only"
                                                        : g + " in golden and " + a + " in actual");
  const std::string seed = state_of(*golden, "seed"), other = state_of(*actual, "seed");
  if (seed.empty() || other.empty()) return difference;
  if (seed != other)
    difference.generator = "the seed is " + seed + " in golden and " + other + " in actual";
  else if (state_of(*golden, "generator") != state_of(*actual, "generator"))
    difference.generator = "its generator is in another state: other random numbers were drawn before";
  return difference;
}

bool draw_the_same(const dump::CallForm* golden, const dump::CallForm* actual) {
  if (golden == nullptr || actual == nullptr) return false;
  const std::string state = state_of(*golden, "generator");
  return !state.empty() && state == state_of(*actual, "generator");
}

bool has_own_random_numbers(const dump::CallForm* form) {
  return form != nullptr && state_of(*form, "random") == "generated";
}

}  // namespace opdump::compare
