// AclCompiler: types of values, words, and what excludes each other (cann.md 1.1, 1.4, 1.6).
#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "dialect/acl.h"
#include "dialect/acl_compiler.h"

namespace opdump::dialect {
namespace {

constexpr std::array<std::string_view, 11> kKeys{
    "dump_path",  "dump_mode", "dump_level", "dump_data", "dump_stats",      "dump_op_switch",
    "dump_debug", "dump_step", "dump_scene", "dump_list", "dump_kernel_data"};
constexpr std::array<std::string_view, 6> kItemKeys{"model_name",       "layer",        "optype_blacklist",
                                                    "opname_blacklist", "opname_range", "watcher_nodes"};
constexpr std::array<std::string_view, 2> kExclusionKeys{"name", "pos"};
constexpr std::array<std::string_view, 2> kRangeKeys{"begin", "end"};
constexpr std::array kKeyPlaces{KeyPlace{"the object dump", kKeys},
                                KeyPlace{"an item of dump_list", kItemKeys}};
constexpr std::array<std::string_view, 9> kTextKeys{"dump_path",  "dump_mode",  "dump_level",
                                                    "dump_data",  "dump_step",  "dump_op_switch",
                                                    "dump_debug", "dump_scene", "dump_kernel_data"};
constexpr std::array<std::string_view, 2> kSwitch{"on", "off"};
constexpr std::array<std::string_view, 3> kModes{"input", "output", "all"};
constexpr std::array<std::string_view, 3> kLevels{"op", "kernel", "all"};
constexpr std::array<std::string_view, 2> kContents{"tensor", "stats"};
constexpr std::array<std::string_view, 5> kScenes{"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump",
                                                  "aic_err_detail_dump", "watcher"};
constexpr std::array<std::string_view, 5> kKernelData{"all", "printf", "tensor", "assert", "timestamp"};
constexpr std::array<std::string_view, 7> kStats{"Max",          "Min",          "Avg",   "Nan",
                                                 "Negative Inf", "Positive Inf", "L2norm"};

struct Words {
  std::string_view key;
  std::span<const std::string_view> words;
};
const std::array kWords{Words{"dump_mode", kModes},   Words{"dump_data", kContents},
                        Words{"dump_level", kLevels}, Words{"dump_op_switch", kSwitch},
                        Words{"dump_debug", kSwitch}, Words{"dump_scene", kScenes}};

std::string join_slash(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : "/").append(word);
  return text;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string not_one_of(std::string_view word, std::string_view item,
                       std::span<const std::string_view> words) {
  return "the value \"" + std::string(word) + "\" of the item " + std::string(item) +
         " is invalid; supported are " + join_slash(words) + suggest(word, words);
}

std::string wrong_type(std::string_view item, const nlohmann::json& value, std::string_view type) {
  return "the content of the item " + std::string(item) + " is invalid: it is " + describe_value(value) +
         ", and should be " + std::string(type);
}

}  // namespace

std::span<const KeyPlace> acl_keys() { return kKeyPlaces; }

// Of the root only what belongs elsewhere: an acl.json configures other things too. Without an object dump
// what looks like one is reported.
void AclCompiler::warn_unknown_keys() {
  warnings_.add_repeated_keys();
  const nlohmann::json& root = document_.root();
  if (!root.is_object()) return;
  constexpr std::string_view kDump = "dump";
  const std::span known(&kDump, 1);
  for (const auto& [key, value] : root.items()) {
    const bool looks_like_it = !root.contains(kDump) && key.size() < 100 && find_nearest(key, known);
    if (looks_like_it || !place_of(key, kKeyPlaces).empty())
      warn_unknown_key(key, "", known, kKeyPlaces, warnings_);
  }
  dump_.warn_unknown(kKeys, kKeyPlaces, warnings_);
  const nlohmann::json* list = dump_.find("dump_list");
  for (std::size_t i = 0; list && list->is_array() && i < list->size(); ++i)
    warn_unknown_keys_of_item((*list)[i], dump_.pointer("dump_list", i));
}

void AclCompiler::warn_unknown_keys_of_item(const nlohmann::json& item, const std::string& pointer) {
  dialect::warn_unknown_keys(item, pointer, kItemKeys, kKeyPlaces, warnings_);
  if (!item.is_object()) return;
  for (const std::string_view key : {"optype_blacklist", "opname_blacklist", "opname_range"}) {
    const auto list = item.find(key);
    if (list == item.end() || !list->is_array()) continue;
    const std::span<const std::string_view> known =
        key == "opname_range" ? std::span<const std::string_view>(kRangeKeys) : kExclusionKeys;
    for (std::size_t i = 0; i < list->size(); ++i)
      dialect::warn_unknown_keys((*list)[i], pointer + "/" + std::string(key) + "/" + std::to_string(i),
                                 known, {}, warnings_);
  }
}

Result<> AclCompiler::check_text(const nlohmann::json& object, std::string_view key,
                                 const std::string& pointer) const {
  const auto found = object.find(key);
  if (found == object.end() || found->is_string()) return ok();
  return fail("EP0001", pointer + "/" + std::string(key), wrong_type(key, *found, "a string"));
}

Result<> AclCompiler::check_texts(const nlohmann::json& object, std::string_view key,
                                  const std::string& pointer) const {
  const auto found = object.find(key);
  if (found == object.end()) return ok();
  const std::string place = pointer + "/" + std::string(key);
  if (!found->is_array()) return fail("EP0001", place, wrong_type(key, *found, "an array of strings"));
  for (std::size_t i = 0; i < found->size(); ++i)
    if (!(*found)[i].is_string())
      return fail("EP0001", place + "/" + std::to_string(i), wrong_type(key, (*found)[i], "a string"));
  return ok();
}

Result<> AclCompiler::check_types() {
  const nlohmann::json& object = document_.root()["dump"];
  for (const std::string_view key : kTextKeys) OPDUMP_CHECK_OK(check_text(object, key, "/dump"));
  OPDUMP_CHECK_OK(check_texts(object, "dump_stats", "/dump"));
  const nlohmann::json* list = dump_.find("dump_list");
  return list ? check_list_types(*list) : ok();
}

Result<> AclCompiler::check_list_types(const nlohmann::json& list) const {
  if (!list.is_array())
    return fail("EP0001", "/dump/dump_list", wrong_type("dump_list", list, "an array of objects"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = "/dump/dump_list/" + std::to_string(i);
    if (!list[i].is_object()) return fail("EP0001", pointer, wrong_type("dump_list", list[i], "an object"));
    OPDUMP_CHECK_OK(check_item_types(list[i], pointer));
  }
  return ok();
}

Result<> AclCompiler::check_item_types(const nlohmann::json& item, const std::string& pointer) const {
  OPDUMP_CHECK_OK(check_text(item, "model_name", pointer));
  OPDUMP_CHECK_OK(check_texts(item, "layer", pointer));
  OPDUMP_CHECK_OK(check_texts(item, "watcher_nodes", pointer));
  for (const std::string_view key : {"optype_blacklist", "opname_blacklist", "opname_range"}) {
    const auto list = item.find(key);
    if (list == item.end()) continue;
    const std::string place = pointer + "/" + std::string(key);
    if (!list->is_array()) return fail("EP0001", place, wrong_type(key, *list, "an array of objects"));
    for (std::size_t i = 0; i < list->size(); ++i) {
      const nlohmann::json& entry = (*list)[i];
      const std::string at = place + "/" + std::to_string(i);
      if (!entry.is_object()) return fail("EP0001", at, wrong_type(key, entry, "an object"));
      for (const std::string_view text : {"name", "begin", "end"})
        OPDUMP_CHECK_OK(check_text(entry, text, at));
      OPDUMP_CHECK_OK(check_texts(entry, "pos", at));
    }
  }
  return ok();
}

Result<> AclCompiler::check_words() {
  for (const auto& [key, words] : kWords) {
    if (dump_.find(key) == nullptr) continue;
    const std::string value = word(key);
    if (value.empty())
      return fail("EP0001", dump_.pointer(key),
                  "the content of the item " + std::string(key) + " is invalid: it is empty");
    if (!is_one_of(value, words)) return fail("EP0002", dump_.pointer(key), not_one_of(value, key, words));
  }
  OPDUMP_CHECK_OK(check_kernel_data());
  return check_stats_words();
}

Result<> AclCompiler::check_kernel_data() {
  constexpr std::string_view kKey = "dump_kernel_data";
  if (dump_.find(kKey) == nullptr) return ok();
  const std::string value = word(kKey);
  if (value.empty())
    return fail("EP0001", dump_.pointer(kKey),
                "the content of the item dump_kernel_data is invalid: it is empty");
  for (const std::string_view piece : split(value, ','))
    if (!is_one_of(piece, kKernelData))
      return fail("EP0002", dump_.pointer(kKey), not_one_of(piece, kKey, kKernelData));
  note_disregarded(kKey, "operators print nothing here");
  return ok();
}

Result<> AclCompiler::check_stats_words() const {
  constexpr std::string_view kKey = "dump_stats";
  const nlohmann::json* stats = dump_.find(kKey);
  for (std::size_t i = 0; stats && i < stats->size(); ++i) {
    const auto& value = (*stats)[i].get_ref<const std::string&>();
    if (!is_one_of(value, kStats))
      return fail("EP0002", dump_.pointer(kKey, i), not_one_of(value, kKey, kStats));
  }
  return ok();
}

Error AclCompiler::conflict(std::string_view one, std::string_view other) const {
  return fail("EP0005", dump_.find(other) ? dump_.pointer(other) : dump_.pointer(one),
              "the items " + std::string(one) + " and " + std::string(other) +
                  " conflict: " + std::string(one) + " is \"" + word(one) + "\" and " + std::string(other) +
                  " \"" + word(other) + "\"");
}

Result<> AclCompiler::check_exclusions() const {
  if (is_exception() || is_watcher()) {
    if (is_on("dump_debug")) return conflict("dump_scene", "dump_debug");
    if (is_on("dump_op_switch")) return conflict("dump_scene", "dump_op_switch");
  }
  if (is_watcher() && word("dump_mode") != "output") return conflict("dump_scene", "dump_mode");
  return ok();
}

Result<> AclCompiler::check_stats() const {
  const nlohmann::json* stats = dump_.find("dump_stats");
  if (!stats) return ok();
  const std::string pointer = dump_.pointer("dump_stats");
  if (stats->empty())
    return fail("EP0001", pointer, "the content of the item dump_stats is invalid: it is empty");
  if (word("dump_data") != "stats")
    return fail(
        "EP0005", pointer,
        "the items dump_data and dump_stats conflict: dump_stats needs dump_data \"stats\", and it is \"" +
            word("dump_data") + "\"");
  return ok();
}

}  // namespace opdump::dialect
