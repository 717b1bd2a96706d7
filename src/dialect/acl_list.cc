// AclCompiler: dump_step and dump_list (cann.md 1.2, 1.3).
#include <algorithm>

#include "base/text/text.h"
#include "dialect/acl.h"
#include "dialect/acl_compiler.h"

namespace opdump::dialect {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSteps = 100, kMaxBlacklist = 100;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? "" : found->get<std::string>();
}

std::vector<std::string> texts_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::vector<std::string>() : found->get<std::vector<std::string>>();
}

bool has_entries(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->empty();
}

// "7" or "5-10" as two numbers.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_steps(std::string_view piece) {
  const auto ends = split(piece, '-');
  if (ends.size() > 2) return std::nullopt;
  const auto first = parse_uint64(ends.front()), last = parse_uint64(ends.back());
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

// "input0"
std::optional<plan::SlotPosition> parse_position(std::string_view text) {
  for (const auto side : {model::Side::input, model::Side::output}) {
    const std::string_view word = model::kSideNames[static_cast<std::size_t>(side)];
    if (!text.starts_with(word)) continue;
    const auto index = parse_uint64(text.substr(word.size()));
    if (index && *index <= UINT32_MAX) return plan::SlotPosition{side, static_cast<std::uint32_t>(*index)};
  }
  return std::nullopt;
}

}  // namespace

Result<> AclCompiler::read_steps() {
  const std::string text = word("dump_step");
  if (text.empty()) return ok();
  const auto wrong = [&](const std::string& reason) {
    return fail("EP0003", dump_.pointer("dump_step"),
                "the value of the item dump_step is invalid: " + reason);
  };
  const auto pieces = split(text, '|');
  if (pieces.size() > kMaxSteps)
    return wrong("it has " + std::to_string(pieces.size()) + " parts; at most 100 are allowed");
  plan_.steps = plan::StepSet::none();
  for (const std::string_view piece : pieces) {
    const auto steps = parse_steps(piece);
    if (!steps)
      return wrong("\"" + std::string(piece.substr(0, 40)) +
                   "\" is neither a number nor two with a '-' in between, the smaller first");
    plan_.steps.add(steps->first, steps->second);
  }
  return ok();
}

Result<> AclCompiler::read_list() {
  const json* list = dump_.find("dump_list");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const std::string pointer = "/dump/dump_list/" + std::to_string(i);
    OPDUMP_CHECK_OK(check_item((*list)[i], pointer));
    OPDUMP_TRY(plan::ModelRule rule, read_item((*list)[i], pointer));
    plan_.models.add(std::move(rule));
  }
  return ok();
}

Result<> AclCompiler::check_item(const json& item, const std::string& pointer) const {
  if (!is_on("dump_op_switch")) {
    if (item.contains("model_name") && text_of(item, "model_name").empty())
      return fail("EP0001", pointer + "/model_name",
                  "the content of the item model_name is invalid: it is empty; leave it out for all models");
    if (item.contains("layer") && item["layer"].empty())
      return fail("EP0001", pointer + "/layer",
                  "the content of the item layer is invalid: it is empty; leave it out for all operators");
  }
  OPDUMP_CHECK_OK(check_watcher(item, pointer));
  for (const char* key : {"optype_blacklist", "opname_blacklist"}) {
    if (!has_entries(item, key)) continue;
    const std::string place = pointer + "/" + key;
    if (word("dump_level") != "op")
      return fail("EP0005", place,
                  "the items " + std::string(key) + " and dump_level conflict: " + key +
                      " needs dump_level \"op\", and it is \"" + word("dump_level") + "\"");
    if (item[key].size() > kMaxBlacklist)
      return fail("EP0003", place,
                  "the value of the item " + std::string(key) + " is invalid: it has " +
                      std::to_string(item[key].size()) + " entries; at most 100 are allowed");
  }
  return check_ranges(item, pointer);
}

Result<> AclCompiler::check_watcher(const json& item, const std::string& pointer) const {
  const bool watched = has_entries(item, "watcher_nodes");
  if (!is_watcher()) {
    if (!watched) return ok();
    return fail(
        "EP0005", pointer + "/watcher_nodes",
        "the items watcher_nodes and dump_scene conflict: watcher_nodes needs dump_scene \"watcher\"");
  }
  if (!watched)
    return fail(
        "EP0001", item.contains("watcher_nodes") ? pointer + "/watcher_nodes" : pointer,
        "the content of the item watcher_nodes is invalid: it is empty, and dump_scene is \"watcher\"");
  if (!item.contains("model_name")) return ok();
  return fail("EP0005", pointer + "/model_name",
              "the items model_name and dump_scene conflict: dump_scene \"watcher\" is for all models");
}

Result<> AclCompiler::check_ranges(const json& item, const std::string& pointer) const {
  if (!has_entries(item, "opname_range")) return ok();
  const std::string place = pointer + "/opname_range";
  if (word("dump_level") != "op")
    return fail(
        "EP0005", place,
        "the items opname_range and dump_level conflict: opname_range needs dump_level \"op\", and it is \"" +
            word("dump_level") + "\"");
  if (text_of(item, "model_name").empty())
    return fail("EP0001", place,
                "the content of the item model_name is invalid: it is empty, and opname_range needs a model");
  const json& ranges = item["opname_range"];
  for (std::size_t i = 0; i < ranges.size(); ++i)
    for (const char* key : {"begin", "end"})
      if (text_of(ranges[i], key).empty())
        return fail("EP0003", place + "/" + std::to_string(i),
                    "the value of the item " + std::string(key) + " is invalid: it is empty");
  return ok();
}

Result<plan::ModelRule> AclCompiler::read_item(const json& item, const std::string& pointer) {
  plan::ModelRule rule;
  rule.model = text_of(item, "model_name");
  rule.operators = texts_of(item, "layer");
  rule.lists_operators = !rule.operators.empty();
  rule.watched = texts_of(item, "watcher_nodes");
  rule.by_type = read_blacklist(item, "optype_blacklist", pointer);
  rule.by_name = read_blacklist(item, "opname_blacklist", pointer);
  if (const auto ranges = item.find("opname_range"); ranges != item.end())
    for (const json& range : *ranges) rule.ranges.push_back({text_of(range, "begin"), text_of(range, "end")});
  return rule;
}

std::vector<plan::Exclusion> AclCompiler::read_blacklist(const json& item, std::string_view key,
                                                         const std::string& pointer) {
  std::vector<plan::Exclusion> exclusions;
  const auto list = item.find(key);
  for (std::size_t i = 0; list != item.end() && i < list->size(); ++i) {
    const std::string place = pointer + "/" + std::string(key) + "/" + std::to_string(i);
    plan::Exclusion exclusion{text_of((*list)[i], "name"), {}};
    for (const std::string& position : texts_of((*list)[i], "pos")) {
      if (const auto slot = parse_position(position))
        exclusion.slots.push_back(*slot);
      else
        warnings_.add(place, "pos \"" + position.substr(0, 40) +
                                 "\" is skipped: expected input0, output0 and the like");
    }
    if (exclusion.slots.empty())
      warnings_.add(place, "nothing is left out: pos names no tensor");
    else
      exclusions.push_back(std::move(exclusion));
  }
  return exclusions;
}

}  // namespace opdump::dialect
