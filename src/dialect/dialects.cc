#include "dialect/dialects.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/text/text.h"
#include "dialect/acl.h"
#include "dialect/json_section.h"
#include "dialect/mindspore.h"

namespace opdump::dialect {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 16 << 20;

Result<const Dialect*> find_dialect(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Dialect& dialect : dialects()) {
    if (dialect.name == name) return &dialect;
    names.push_back(dialect.name);
  }
  return Error(Code::usage, "dialect is \"" + std::string(name) + "\"; known are " + join_or(names));
}

// Of {}, and of other sections than a dump's: a program of CANN may start with it, and nothing is dumped.
const Dialect* without_section() {
  return &*std::ranges::find_if(dialects(), [](const Dialect& dialect) { return dialect.may_lack_section; });
}

Result<const Dialect*> recognise(const JsonDocument& document) {
  std::vector<std::string_view> signs;
  for (const Dialect& dialect : dialects()) {
    if (dialect.recognises(document.root())) return &dialect;
    signs.push_back(dialect.sign);
  }
  std::string message = "not a known configuration: expected the key " + join_or(signs);
  if (!document.root().is_object())
    return document.error("", message + "; this is " + describe_value(document.root()));
  for (const auto& [key, value] : document.root().items())
    if (key.size() < 100 && find_nearest(key, signs))
      return document.error("", message.append("; is \"").append(key).append("\" a misspelling?"));
  const auto likely = std::ranges::max_element(
      dialects(), {}, [&](const Dialect& dialect) { return count_keys(document.root(), dialect.keys); });
  if (count_keys(document.root(), likely->keys) == 0) return without_section();
  return document.error("", message + describe_place(document.root(), likely->keys));
}

// The language that a text looks like though it may not be JSON; null if none.
const Dialect* guess(std::string_view text) {
  for (const Dialect& dialect : dialects())
    if (text.find("\"" + std::string(dialect.sign) + "\"") != std::string_view::npos) return &dialect;
  return nullptr;
}

Result<plan::DumpPlan> compile_text(const std::filesystem::path& path, const std::filesystem::path& resolved,
                                    std::string text, const Dialect* dialect, const DialectOptions& options) {
  const Dialect* const likely = dialect ? dialect : guess(text);
  if (options.strict && dialect && dialect->check_path) OPDUMP_CHECK_OK(dialect->check_path(resolved));
  const auto parse = likely ? likely->parse : JsonDocument::parse;
  OPDUMP_TRY(const JsonDocument document, parse(path.string(), std::move(text)));
  if (!dialect) {
    OPDUMP_TRY(dialect, recognise(document));
    if (options.strict && dialect->check_path) OPDUMP_CHECK_OK(dialect->check_path(resolved));
  }
  OPDUMP_TRY(plan::DumpPlan plan, dialect->compile(document, options));
  plan.dialect = dialect->name;
  plan.config_path = resolved;
  plan.config_text = document.text();
  return plan;
}

}  // namespace

std::span<const Dialect> dialects() {
  static const std::array table{
      Dialect{"mindspore", "common_dump_settings", recognises_mindspore, check_mindspore_path,
              JsonDocument::parse, compile_mindspore, mindspore_keys()},
      Dialect{"acl", "dump", recognises_acl, nullptr, parse_acl, compile_acl, acl_keys(), kAclInvalidFile,
              true},
  };
  return table;
}

Result<plan::DumpPlan> make_plan(const std::filesystem::path& path, std::string text, std::string_view name,
                                 const DialectOptions& options) {
  const Dialect* dialect = nullptr;
  if (!name.empty()) {
    OPDUMP_TRY(dialect, find_dialect(name));
  }
  return compile_text(path, path, std::move(text), dialect, options);
}

Result<plan::DumpPlan> load_plan(const std::filesystem::path& path, std::string_view name,
                                 const DialectOptions& options) {
  const Dialect* dialect = nullptr;
  if (!name.empty()) {
    OPDUMP_TRY(dialect, find_dialect(name));
  }
  const int number = dialect ? dialect->missing_file_number : 0;
  auto text = read_file(path, kMaxConfigBytes);
  if (!text)  // whatever the cause: there is no configuration
    return Error(Code::config, text.error().message()).with_number(number);
  std::error_code failure;
  const std::filesystem::path resolved = std::filesystem::canonical(path, failure);
  if (failure)
    return Error(Code::config, path.string() + ": resolve: " + failure.message()).with_number(number);
  return compile_text(path, resolved, std::move(*text), dialect, options);
}

}  // namespace opdump::dialect
