#include "cli/ls/ls_wiring.h"

#include <algorithm>
#include <optional>

#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::cli {
namespace {

constexpr std::size_t kMostReaders = 8;  // in a line for people

std::string steps_before(std::int64_t steps) {
  return steps == 0 ? "" : ", " + counted(static_cast<std::uint64_t>(steps), "step") + " before";
}

std::string describe_maker(const dump::CallWiring::Maker& maker) {
  return compare::one_line(maker.name) + " output." + std::to_string(maker.output) +
         steps_before(maker.steps_before);
}

std::string describe_input(const dump::CallWiring::Input& input) {
  std::string text = input.maker        ? "made by " + describe_maker(*input.maker)
                     : input.is_outside ? "made by no recorded operator"
                                        : "maker unknown";
  if (input.view) {
    const auto& [offset, strides] = *input.view;
    text += ", a view from element " + std::to_string(offset) + " on with strides " +
            model::format_shape(model::Shape(std::span(strides)));
  } else if (input.is_view) {
    text += ", a view";
  }
  for (const dump::CallWiring::Maker& maker : input.changed_by)
    text += ", changed by " + describe_maker(maker);
  if (input.is_overwritten) text += ", overwritten without being read";
  return text;
}

Json maker_json(const dump::CallWiring::Maker& maker, std::int64_t step) {
  Json json;
  json["operator"] = maker.name;
  json["slot"] = "output." + std::to_string(maker.output);
  json["step"] = step - maker.steps_before;
  return json;
}

}  // namespace

WiringLists::WiringLists(const dump::DumpSet& dump, const Chosen& chosen) : runs_(dump.runs()) {
  const auto output_of = [&](std::uint32_t run, std::uint32_t number, std::int64_t before,
                             std::uint32_t index) {
    const dump::Runs::Section& section = runs_.section_of(run);
    return Output{section.rank, number, section.step - before, index};
  };
  for (const std::uint32_t run : chosen)
    for (const dump::Slot& slot : runs_.slots(run))
      if (slot.side == model::Side::output && runs_.operator_number(run) != 0)
        readers_.try_emplace(output_of(run, runs_.operator_number(run), 0, slot.index));
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const auto wiring = runs_.wiring_of(run);
    if (wiring == nullptr) continue;
    const auto add = [&](const dump::CallWiring::Maker& maker, std::uint32_t input) {
      const auto output = readers_.find(output_of(run, maker.number, maker.steps_before, maker.output));
      if (output != readers_.end()) output->second.push_back({run, input});
    };
    for (const dump::CallWiring::Input& input : wiring->inputs) {
      if (input.is_overwritten) continue;
      if (input.maker) add(*input.maker, input.index);
      for (const dump::CallWiring::Maker& maker : input.changed_by) add(maker, input.index);
    }
  }
}

const std::vector<WiringLists::Reader>& WiringLists::readers(std::uint32_t run,
                                                             const dump::Slot& slot) const {
  static const std::vector<Reader> none;
  const dump::Runs::Section& section = runs_.section_of(run);
  const auto found = readers_.find({section.rank, runs_.operator_number(run), section.step, slot.index});
  return found == readers_.end() ? none : found->second;
}

std::vector<std::string> WiringLists::describe(std::uint32_t run, const dump::Slot& slot) const {
  std::vector<std::string> lines;
  if (slot.side == model::Side::input) {
    const auto wiring = runs_.wiring_of(run);
    const dump::CallWiring::Input* const input = wiring == nullptr ? nullptr : wiring->find(slot.index);
    lines.push_back(input == nullptr ? "maker unknown" : describe_input(*input));
    return lines;
  }
  const std::vector<Reader>& all = readers(run, slot);
  for (const Reader& reader : std::span(all).first(std::min(all.size(), kMostReaders)))
    lines.push_back("read by " + compare::one_line(compare::operator_name(runs_.without_slots(reader.run))) +
                    " input." + std::to_string(reader.input) +
                    (runs_.section_of(reader.run).step == runs_.section_of(run).step
                         ? ""
                         : ", step " + std::to_string(runs_.section_of(reader.run).step)));
  if (all.size() > kMostReaders)
    lines.push_back("and " + std::to_string(all.size() - kMostReaders) + " more");
  return lines;
}

void WiringLists::add_to(Json& record, std::uint32_t run, const dump::Slot& slot) const {
  const std::int64_t step = runs_.section_of(run).step;
  if (slot.side == model::Side::output) {
    record["read_by"] = Json::array();
    for (const Reader& reader : readers(run, slot)) {
      Json json;
      json["operator"] = compare::operator_name(runs_.without_slots(reader.run));
      json["slot"] = "input." + std::to_string(reader.input);
      json["step"] = runs_.section_of(reader.run).step;
      record["read_by"].push_back(std::move(json));
    }
    return;
  }
  const auto wiring = runs_.wiring_of(run);
  const dump::CallWiring::Input* const input = wiring == nullptr ? nullptr : wiring->find(slot.index);
  if (input == nullptr) return;
  if (input->maker)
    record["made_by"] = maker_json(*input->maker, step);
  else if (input->is_outside)
    record["made_by"] = nullptr;
  if (input->view)
    record["view"] = {{"offset", input->view->offset}, {"strides", input->view->strides}};
  else if (input->is_view)
    record["view"] = true;
  if (input->is_overwritten) record["overwrites"] = true;
  if (input->changed_by.empty()) return;
  record["changed_by"] = Json::array();
  for (const dump::CallWiring::Maker& maker : input->changed_by)
    record["changed_by"].push_back(maker_json(maker, step));
}

}  // namespace opdump::cli
