// Files of a dump that is being recorded: created so that nothing outside the tree is ever written to, even
// if somebody put symbolic links where our names will be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/file/file.h"
#include "base/file/kept_file.h"
#include "base/result.h"

namespace opdump::dump {

// A directory held open: names resolve in it without walking the path again.
struct OpenDirectory {
  KeptFile fd;
  std::filesystem::path path;
};

// Creates `path` (0700) where it is missing and opens it; a symbolic link is refused. Errors: io.
Result<OpenDirectory> open_directory(const std::filesystem::path& path);

// The same for the directory that the user chose, which may be reached through links. Errors: io.
Result<OpenDirectory> open_root(const std::filesystem::path& path);

// Creates the directories of `relative` below `top` (0700) where they are missing and opens the last. No
// symbolic link on the way is followed. Errors: io, also for a `top` that was removed.
Result<OpenDirectory> open_below(const OpenDirectory& top, const std::filesystem::path& relative);

// Whether the path still leads to the directory that was opened. Errors: io -- it was removed or moved.
Result<> check_in_place(const OpenDirectory& directory);

// Creates `name` for writing, readable by its owner only (0400, of no concern to the descriptor). Nothing if
// the name is taken. Errors: io, also for a directory that was removed.
Result<std::optional<Fd>> create_new(const OpenDirectory& directory, const std::string& name);

// The same, but an existing file loses its name first. It is not truncated: it may have other names (links).
Result<Fd> create_replacing(const OpenDirectory& directory, const std::string& name);

// Replaces `name` by a file that holds `text` and is readable by its owner only: a reader sees the old one or
// the new one, never a part. Errors: io.
Result<> replace_file(const OpenDirectory& directory, const std::string& name, std::string_view text);

// Gives the file `target` the further name `name`. False if the name is taken. Errors: io, also where the
// system refuses links.
Result<bool> link_new(const OpenDirectory& directory, const std::string& name,
                      const std::filesystem::path& target);

// The same, but another file of that name loses it first.
Result<> link_replacing(const OpenDirectory& directory, const std::string& name,
                        const std::filesystem::path& target);

void remove_file(const OpenDirectory& directory, const std::string& name);

// Moves the directory `from` to `to`, whose parents are created (0700). If `to` exists, files of equal names
// are replaced, except that the rows of tables are added to it: statistic.csv without its header,
// mapping.csv. No `from` is fine. Errors: io.
Result<> move_directory(const std::filesystem::path& from, const std::filesystem::path& to);

// Opens a text file of lines for appending (0600), several processes at once. If it is new, it starts with
// `header`; if a killed writer left a torn last line, that line is ended first. Errors: io.
Result<Fd> open_append(const std::filesystem::path& path, std::string_view header);

// The same of a file that is held open.
Result<KeptFile> keep_append(const std::filesystem::path& path, std::string_view header);

// The same of a file of bytes, to which nothing is added at first. Errors: io.
Result<KeptFile> keep_append_bytes(const std::filesystem::path& path);

// Opens it anew if `fd` is not the descriptor of the file any more: the program has closed it, and may have a
// file of its own there, which stays open. Errors: io.
Result<> hold_append(Fd& fd, const std::filesystem::path& path);

}  // namespace opdump::dump
