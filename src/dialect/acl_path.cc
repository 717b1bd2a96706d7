// AclCompiler: where the dump goes (cann.md 1.1, 1.4).
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text/text.h"
#include "dialect/acl.h"
#include "dialect/acl_compiler.h"

namespace opdump::dialect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestPath = 512;

bool is_address(std::string_view text) {
  const auto octets = split(text, '.');
  return octets.size() == 4 && std::ranges::all_of(octets, [](std::string_view octet) {
           const auto number = parse_uint64(octet);
           return number && *number <= 255;
         });
}

bool is_path_character(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || std::string_view("-=[];\\,./!@#$%^&*()_+{}:?").find(c) != std::string_view::npos;
}

bool is_name_character(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What is wrong with a directory; empty if nothing is.
std::string complain_of(const fs::path& path) {
  std::error_code failed;
  const auto status = fs::status(path, failed);
  if (!fs::exists(status)) return "there is no such directory; create it: mkdir -p '" + path.string() + "'";
  if (!fs::is_directory(status)) return "it is not a directory";
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0)
    return "the directory cannot be read and written; permit it: chmod u+rwx '" + path.string() + "'";
  return "";
}

std::string wrong_path(std::string_view path, std::string_view reason) {
  return "the value \"" + std::string(path) + "\" of the item dump_path is invalid: " + std::string(reason);
}

}  // namespace

std::optional<std::string> find_variable(const DialectOptions& options, std::string_view name) {
  auto value = options.environment ? options.environment(name) : std::nullopt;
  if (value && value->empty()) value.reset();
  return value;
}

// $NAME, ${NAME} and a leading ~, as a shell reads them.
Result<std::string> AclCompiler::expand(const std::string& path) const {
  std::string text = path;
  if (text == "~" || text.starts_with("~/")) text.replace(0, 1, "$HOME");
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const bool braced = at + 1 < text.size() && text[at + 1] == '{';
    const std::size_t begin = at + (braced ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const std::string name = text.substr(begin, end - begin);
    if (name.empty() || (braced && (end == text.size() || text[end] != '}'))) {
      out += text[at++];
      continue;
    }
    const auto value = find_variable(options_, name);
    if (!value)
      return fail("EP0003", dump_.pointer("dump_path"),
                  wrong_path(path, "the environment has no variable " + name));
    out += *value;
    at = end + (braced ? 1 : 0);
  }
  return out;
}

// "IPv4:path": another machine's directory.
Result<> AclCompiler::check_remote(std::string_view path) const {
  const std::size_t colon = path.find(':');
  const std::string_view rest = path.substr(colon + 1);
  std::string_view reason;
  if (!is_address(path.substr(0, colon)))
    reason = "the text before the colon is not an address such as 192.168.0.1";
  else if (rest.empty())
    reason = "there is no path after the address";
  else if (!std::ranges::all_of(rest, is_path_character))
    reason = "the path after the address has a character that is not allowed";
  else if (asks_for_something())
    reason = "dumps are written to directories of this machine only";
  if (reason.empty()) return ok();
  return fail("EP0003", dump_.pointer("dump_path"), wrong_path(path, reason));
}

Result<> AclCompiler::read_path() {
  const std::string pointer = dump_.pointer("dump_path");
  std::string path = word("dump_path");
  if (path.empty())
    return fail("EP0001", dump_.find("dump_path") ? pointer : "/dump",
                "the content of the item dump_path is invalid: it is " +
                    std::string(dump_.find("dump_path") ? "empty" : "missing") + ", and a dump needs it");
  if (path.size() > kLongestPath)
    return fail("EP0003", pointer,
                wrong_path(path.substr(0, 40) + "...",
                           std::to_string(path.size()) + " characters; at most 512 are allowed"));
  std::error_code failed;
  if (path.find(':') != std::string::npos && (options_.strict || !fs::is_directory(path, failed)))
    return check_remote(path);
  if (!options_.strict) {
    OPDUMP_TRY(path, expand(path));
  }
  if (std::string reason = complain_of(path); !reason.empty()) {
    if (options_.strict && (path.starts_with('~') || path.find('$') != std::string::npos))
      reason += "; a strict reading expands neither variables nor ~";
    return fail("EP0003", pointer, wrong_path(word("dump_path"), reason));
  }
  plan_.root = fs::canonical(path, failed);
  if (failed) return fail("EP0003", pointer, wrong_path(path, failed.message()));
  return ok();
}

// What failing operators leave is found where the environment says, before what the file says.
void AclCompiler::read_exception_root() {
  std::string path = word("dump_path");
  if (!options_.strict)
    if (auto expanded = expand(path)) path = *expanded;
  for (const std::string_view name : {"ASCEND_WORK_PATH", "ASCEND_DUMP_PATH", "NPU_COLLECT_PATH"}) {
    if (options_.strict && name == "NPU_COLLECT_PATH") continue;  // only the documentation has it
    if (auto value = find_variable(options_, name)) path = *value;
  }
  std::error_code failed;
  plan_.root = fs::absolute(path.empty() ? "." : path, failed).lexically_normal();
}

}  // namespace opdump::dialect
