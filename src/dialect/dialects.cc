#include "dialect/dialects.h"

#include <array>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "dialect/mindspore.h"

namespace opdump::dialect {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 16 << 20;

constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"auto", Mode::automatic}, {"o0", Mode::o0},   {"o2", Mode::o2},
    {"cpu", Mode::cpu},        {"gpu", Mode::gpu}, {"ge", Mode::ge},
};

Result<const Dialect*> find_dialect(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Dialect& dialect : dialects()) {
    if (dialect.name == name) return &dialect;
    names.push_back(dialect.name);
  }
  return Error(Code::usage, "dialect is \"" + std::string(name) + "\"; known are " + join_or(names));
}

Result<const Dialect*> recognise(const JsonDocument& document) {
  std::vector<std::string_view> signs;
  for (const Dialect& dialect : dialects()) {
    if (dialect.recognises(document.root())) return &dialect;
    signs.push_back(dialect.sign);
  }
  std::string message = "no configuration we know: expected the key " + join_or(signs);
  if (document.root().is_object())
    for (const auto& [key, value] : document.root().items())
      if (key.size() < 100 && find_nearest(key, signs))
        return document.error("", message.append("; is \"").append(key).append("\" meant to be it?"));
  return document.error("", message);
}

}  // namespace

std::span<const Dialect> dialects() {
  static const std::array table{
      Dialect{"mindspore", "common_dump_settings", recognises_mindspore, check_mindspore_path,
              compile_mindspore},
  };
  return table;
}

Result<Mode> parse_mode(std::string_view text) {
  std::vector<std::string_view> names;
  for (const auto& [name, mode] : kModes) {
    if (name == text) return mode;
    names.push_back(name);
  }
  return Error(Code::usage, "mode is \"" + std::string(text) + "\"; expected " + join_or(names));
}

std::optional<std::string> process_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<plan::DumpPlan> load_plan(const std::filesystem::path& path, std::string_view name,
                                 const Options& options) {
  const Dialect* dialect = nullptr;
  if (!name.empty()) {
    OPDUMP_TRY(dialect, find_dialect(name));
  }
  auto text = read_file(path, kMaxConfigBytes);
  if (!text)
    return Error(Code::config, text.error().message());  // whatever the cause: there is no configuration
  std::error_code failure;
  const std::filesystem::path resolved = std::filesystem::canonical(path, failure);
  if (failure) return Error(Code::config, path.string() + ": resolve: " + failure.message());
  if (options.strict && dialect != nullptr) OPDUMP_CHECK_OK(dialect->check_path(resolved));

  OPDUMP_TRY(const JsonDocument document, JsonDocument::parse(path.string(), std::move(*text)));
  if (dialect == nullptr) {
    OPDUMP_TRY(dialect, recognise(document));
    if (options.strict) OPDUMP_CHECK_OK(dialect->check_path(resolved));
  }
  OPDUMP_TRY(plan::DumpPlan plan, dialect->compile(document, options));
  plan.dialect = dialect->name;
  plan.config_path = resolved;
  plan.config_text = document.text();
  return plan;
}

}  // namespace opdump::dialect
