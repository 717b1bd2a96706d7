// Paths that a user gives, checked and shown as by the original.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

// Python's "%r" of a path within double quotes: "'/a/b'".
std::string in_quotes(const std::string& path);

// What Python says of an error of the system: "[Errno 13] Permission denied: '/a/b'". The message of others.
std::string python_os_error(const Error& error, const std::filesystem::path& path);

// The path without links and dots, as os.path.realpath; it need not exist.
std::filesystem::path real_path(const std::string& text);
// Returns the path as text; "" is the current directory.
std::string real_text(const std::string& path);

// Whether the last part of `given` is a symbolic link.
bool is_link(const std::string& given);

// The original's rules for a path that is read: its letters, that it is no link, its length, that it is there
// and may be read. Logs what is wrong; some of that shows the path as it is given.
enum class PathKind : std::uint8_t { any, file, directory };
Status check_path(const std::string& given, PathKind kind, Log& log);

// Makes the directory if it is missing, and checks it.
Status check_output(const std::string& given, Log& log);

// uuid.uuid3(uuid.NAMESPACE_DNS, name) without hyphens: what replaces a name that is too long for a file.
std::string uuid3(const std::string& name);

// "20261121113152": local time, for names of results.
std::string time_stamp();

}  // namespace opdump::msaccucmp
