// What a folder that is to be recorded into has already: dumps of earlier recordings and of other tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace opdump::dump {

// What a recording does with a dump that it finds in its folder.
enum class Existing : std::uint8_t {  // in the order of opdump_existing
  refuse,
  replace,
  append,  // as the original does
};

// "refuse", "replace", "append"; nothing for any other text.
std::optional<Existing> parse_existing(std::string_view text);

// A part of a dump's folder: of one rank and its device, or of all.
struct FolderPart {
  std::filesystem::path root;
  std::optional<std::uint32_t> rank, device;
};

// Where there is a dump in the part that is not of the run `run_id`; nothing if there is none.
std::optional<std::filesystem::path> find_dump(const FolderPart& part, std::string_view run_id);

// Removes the dumps in the part: the files that opdump writes, those that the schemes of MindSpore and CANN
// have, and the directories that are empty then. Every other file stays, with the directories that lead to
// it; links are neither followed nor removed. Errors: io.
Result<> remove_dump(const FolderPart& part);

// The same where it is not certain yet that a recording will begin: the files are moved into a hidden folder
// of the root, and one that a run left there, which was killed, is removed. Returns how much room they take.
// Errors: io.
Result<std::uint64_t> put_dump_aside(const FolderPart& part);
// It does not begin: they are where they were. Errors: io.
Result<> put_dump_back(const FolderPart& part);
// It begins, or another process of the run has: they are removed, those of all ranks included.
void discard_dump_aside(const FolderPart& part);
bool has_dump_aside(const FolderPart& part);

// "DIR: has a dump already; ...": names the ways out.
Error dump_exists(const std::filesystem::path& found);

// That a recording may not begin there, in other words.
Error refusal(std::string text);
bool is_refusal(const Error& error);

}  // namespace opdump::dump
