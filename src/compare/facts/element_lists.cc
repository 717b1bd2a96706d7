#include "compare/facts/element_lists.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// The number of the first tensor of a list that has `size` tensors, one input after the other.
std::optional<std::uint32_t> first_of(const nlohmann::ordered_json& list, std::size_t size) {
  if (!list.is_array() || list.size() != size || size == 0) return std::nullopt;
  std::optional<std::uint32_t> first;
  for (std::size_t i = 0; i < size; ++i) {
    const auto& one = list[i];
    if (!one.is_object() || !one.contains("tensor") || !one["tensor"].is_number_unsigned())
      return std::nullopt;
    const auto number = one["tensor"].get<std::uint32_t>();
    if (!first) first = number;
    if (number != *first + i) return std::nullopt;
  }
  return first;
}

}  // namespace

std::optional<ElementLists> ElementLists::of(std::string_view type, const dump::CallForm* form) {
  if (form == nullptr || !model::has_trait(type, model::Trait::elementwise_lists)) return std::nullopt;
  const auto arguments = parse_ordered_json(form->arguments);
  if (!arguments.is_object() || arguments.empty() || !arguments.begin()->is_array()) return std::nullopt;
  ElementLists lists;
  const std::size_t size = arguments.begin()->size();
  if (size < 2 || !first_of(*arguments.begin(), size)) return std::nullopt;
  lists.size_ = static_cast<std::uint32_t>(size);
  for (const auto& value : arguments)
    if (const auto first = first_of(value, size)) lists.firsts_.push_back(*first);
  std::ranges::sort(lists.firsts_);
  return lists;
}

std::optional<std::uint32_t> ElementLists::element_of_input(std::uint32_t index) const {
  const auto after = std::ranges::upper_bound(firsts_, index);
  if (after == firsts_.begin() || index - *std::prev(after) >= size_) return std::nullopt;
  return index - *std::prev(after);
}

void use_order_of_golden(dump::OperatorRun& actual, const ElementOrder& order) {
  const auto lists = ElementLists::of(actual.type, actual.form.get());
  if (!lists || lists->size() != order.size()) return;
  ElementOrder golden_of(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) golden_of[order[i]] = i;
  const auto input = [&](std::uint32_t index) {
    const auto element = lists->element_of_input(index);
    return element ? index - *element + golden_of[*element] : index;
  };
  for (dump::Slot& slot : actual.slots) {
    const std::uint32_t element = lists->element_of_output(slot.index);
    slot.index =
        slot.side == model::Side::input ? input(slot.index) : slot.index - element + golden_of[element];
  }
  std::ranges::sort(actual.slots, {},
                    [](const dump::Slot& slot) { return std::pair(slot.side, slot.index); });
  if (actual.wiring == nullptr) return;
  dump::CallWiring wiring = *actual.wiring;
  for (dump::CallWiring::Input& one : wiring.inputs) one.index = input(one.index);
  std::ranges::sort(wiring.inputs, {}, &dump::CallWiring::Input::index);
  actual.wiring = std::make_shared<const dump::CallWiring>(std::move(wiring));
}

}  // namespace opdump::compare
