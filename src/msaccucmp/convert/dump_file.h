// The conversion of dump files, for the verbs that make files of them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "format/tensors/dump_data.h"
#include "group/group.h"
#include "msaccucmp/convert/format_change.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

enum class FileType : std::uint8_t { npy, bin, msnpy, torch };

struct ConvertOptions {
  std::filesystem::path output;
  FileType type = FileType::npy;
  bool is_bug_compatible = false;
  std::optional<FormatOptions> format;  // -f
  struct Selection {
    bool is_input = false;
    std::size_t index = 0;
  };
  std::optional<Selection> only;                        // -i, -o
  std::function<void(std::uint64_t bytes)> on_written;  // as that of Array; may be empty
  const group::Group* group = nullptr;  // not null: several processes divide the files of a directory
};

struct ConvertedFile {
  Status status = Status::ok;
  std::string failure;  // its line in the list of failures: "path,output:0"; meaningful unless ok
};

// Writes the tensors of the dump file `path`, or what an Opdebug file says.
ConvertedFile convert_dump_file(const std::filesystem::path& path, const ConvertOptions& options, Log& log);

// A name of 255 characters and more becomes the UUID of its text, which is noted in `directory`/mapping.csv.
std::string fitting_name(const std::filesystem::path& directory, const std::string& name,
                         std::string_view suffix, Log& log);

}  // namespace opdump::msaccucmp
