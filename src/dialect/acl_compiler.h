// One reading of an acl.json. Internal to dialect/acl*.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/json_section.h"
#include "dialect/options.h"
#include "plan/dump_plan.h"

namespace opdump::dialect {

class AclCompiler {
 public:
  AclCompiler(const JsonDocument& document, const DialectOptions& options);
  Result<plan::DumpPlan> compile();

 private:
  // acl_types.cc
  void warn_unknown_keys();
  void warn_unknown_keys_of_item(const nlohmann::json& item, const std::string& pointer);
  Result<> check_types();
  Result<> check_list_types(const nlohmann::json& list) const;
  Result<> check_item_types(const nlohmann::json& item, const std::string& pointer) const;
  Result<> check_text(const nlohmann::json& object, std::string_view key, const std::string& pointer) const;
  Result<> check_texts(const nlohmann::json& object, std::string_view key, const std::string& pointer) const;
  Result<> check_words();
  Result<> check_stats_words() const;
  Result<> check_kernel_data();
  Result<> check_exclusions() const;  // of scenes and switches
  Result<> check_stats() const;
  Error conflict(std::string_view one, std::string_view other) const;

  // acl_path.cc
  Result<> read_path();
  Result<std::string> expand(const std::string& path) const;
  Result<> check_remote(std::string_view path) const;
  void read_exception_root();

  // acl_list.cc
  Result<> read_steps();
  Result<> read_list();
  Result<plan::ModelRule> read_item(const nlohmann::json& item, const std::string& pointer);
  Result<> check_item(const nlohmann::json& item, const std::string& pointer) const;
  Result<> check_watcher(const nlohmann::json& item, const std::string& pointer) const;
  Result<> check_ranges(const nlohmann::json& item, const std::string& pointer) const;
  std::vector<plan::Exclusion> read_blacklist(const nlohmann::json& item, std::string_view key,
                                              const std::string& pointer);

  // acl.cc
  Result<> read_device_formats();
  void read_content();
  void settle_exception();
  void settle_overflow();
  void settle_selection();
  void note_disregarded(std::string_view key, std::string_view why);
  Error fail(std::string_view code, const std::string& pointer, const std::string& text) const;
  std::string word(std::string_view key) const;  // a text's value, or its default
  bool is_on(std::string_view key) const { return word(key) == "on"; }
  bool is_exception() const;
  bool is_watcher() const { return word("dump_scene") == "watcher"; }
  bool asks_for_something() const;
  bool environment_asks_for_exceptions() const;

  const JsonDocument& document_;
  const DialectOptions& options_;
  JsonSection dump_;
  Warnings warnings_;
  plan::DumpPlan plan_;
};

// The value of a variable, or nothing if it is not set or empty.
std::optional<std::string> find_variable(const DialectOptions& options, std::string_view name);

}  // namespace opdump::dialect
