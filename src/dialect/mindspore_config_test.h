// What the tests of MindSpore's configurations share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "dialect/json_section.h"
#include "dialect/mindspore.h"
#include "dialect/options_test.h"

namespace opdump::dialect {

inline Result<plan::DumpPlan> compile(std::string text, const DialectOptions& options) {
  OPDUMP_TRY(const JsonDocument document, JsonDocument::parse("f.json", std::move(text)));
  return compile_mindspore(document, options);
}

// A complete configuration, one key to a line, in which single values are replaced.
struct Config {
  std::map<std::string, std::string> common{
      {"dump_mode", "0"},    {"path", "\"/data\""}, {"net_name", "\"Net\""},   {"iteration", "\"all\""},
      {"input_output", "0"}, {"kernels", "[]"},     {"support_device", "[0]"}, {"op_debug_mode", "0"},
  };
  std::map<std::string, std::string> e2e{{"enable", "true"}};
  bool has_e2e = true;

  // Sets a key, of e2e_dump_settings if it begins with "e2e."; an empty value removes it.
  Config& set(std::string key, const std::string& value) {
    const bool in_e2e = key.starts_with("e2e.");
    auto& section = in_e2e ? e2e : common;
    if (in_e2e) key.erase(0, 4);
    if (value.empty())
      section.erase(key);
    else
      section[key] = value;
    return *this;
  }

  Config& offline() {
    has_e2e = false;
    return *this;
  }

  std::string text() const {
    std::string out = "{\"common_dump_settings\": {";
    append(out, common);
    out += "}";
    if (has_e2e) {
      out += ",\n\"e2e_dump_settings\": {";
      append(out, e2e);
      out += "}";
    }
    return out + "}\n";
  }

  static void append(std::string& out, const std::map<std::string, std::string>& section) {
    const char* separator = "\n";
    for (const auto& [key, value] : section) {
      out += separator + ("\"" + key + "\": ") + value;
      separator = ",\n";
    }
  }
};

// "" or the error's text without the position.
inline std::string complaint(const Config& config, const DialectOptions& options) {
  const auto plan = compile(config.text(), options);
  if (plan) return "";
  EXPECT_EQ(plan.error().code(), Code::config);
  EXPECT_THAT(plan.error().message(), testing::StartsWith("f.json:"));
  return plan.error().message();
}

inline plan::DumpPlan must_compile(const Config& config, const DialectOptions& options) {
  auto plan = compile(config.text(), options);
  EXPECT_TRUE(plan) << plan.error().message() << "\n" << config.text();
  return plan ? std::move(*plan) : plan::DumpPlan();
}

// One key with one value, and what becomes of it. Empty text: accepted; otherwise part of the error.

}  // namespace opdump::dialect
