#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "base/file/content.h"
#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/json.h"
#include "base/text/packed_texts.h"
#include "base/text/packing.h"
#include "base/text/text.h"

namespace opdump {
namespace {

TEST(Text, NumbersPrintAsStreamsDo) {
  for (const double value : {0.0, -0.0, 1.0, 9.53939201416942, 123456789.0, 1e-5, 100000.0, 1e6, 999999.5,
                             -1.79769e308, 0.5, 1.0 / 3, 2.5e-310, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::ostringstream stream;
    stream << value;
    EXPECT_EQ(format_g(value), stream.str());
  }
  EXPECT_EQ(format_g(std::copysign(std::nan(""), -1.0)), "-nan");
  EXPECT_EQ(format_g(-1.7976931348623157e+308), "-1.79769e+308");
}

TEST(Text, NearestNeedsToBeNear) {
  const std::vector<std::string_view> keys{"dump_mode", "path", "net_name"};
  EXPECT_EQ(find_nearest("dump_mod", keys), "dump_mode");
  EXPECT_EQ(find_nearest("Net_Nam", keys), "net_name");
  EXPECT_EQ(find_nearest("pa", keys), std::nullopt);
  EXPECT_EQ(find_nearest("entirely_different", keys), std::nullopt);
}

TEST(Text, Pieces) {
  EXPECT_EQ(split("a||b", '|'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '|'), (std::vector<std::string_view>{""}));
  EXPECT_EQ(trim(" \t a b\n"), "a b");
  EXPECT_EQ(parse_uint64("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_uint64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_int64("-5"), -5);
  EXPECT_EQ(parse_int64("5 "), std::nullopt);
  EXPECT_EQ(parse_int64(""), std::nullopt);
  const std::vector<std::string_view> words{"input", "output", "all"};
  EXPECT_EQ(join_or(words), "input, output or all");
  EXPECT_EQ(counted(1, "tensor"), "1 tensor");
  EXPECT_EQ(counted(0, "tensor"), "0 tensors");
  EXPECT_EQ(format_bytes(640), "640 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(parse_bytes("640"), 640u);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3u << 29);
  EXPECT_EQ(parse_bytes("512m"), 512u << 20);
  for (const auto* wrong : {"", "-1", "1x", "1kk", "1e300", "G"})
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
}

TEST(Json, PositionsOfValuesAndKeys) {
  auto document = JsonDocument::parse(
      "c.json", "\xEF\xBB\xBF{\n  \"a\": {\"b/c\": [1, {\"d\": \"x\\\"}\"}]},\n  \"a\": {\"e\": 2}\n}");
  ASSERT_TRUE(document) << document.error().message();
  EXPECT_EQ(document->where("/a"), "c.json:3:8");  // the last of equal keys, as the parser takes it
  EXPECT_EQ(document->where("/a/e"), "c.json:3:14");
  EXPECT_EQ(document->where_key("/a/e"), "c.json:3:9");
  EXPECT_EQ(document->where("/nothing/here"), "c.json:1:4");

  document = JsonDocument::parse("d", "{\"a\":{\"b/c\":[1,{\"d\" : \"x\\\"}\"}]}}");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->where("/a/b~1c/1/d"), "d:1:23");
  EXPECT_EQ(document->where("/a/b~1c/0"), "d:1:14");
}

TEST(Json, MembersOneByOne) {
  std::string found;
  const auto take = [&](const std::string& name, const nlohmann::json& value) {
    found += name + "=" + json_text(value) + ";";
  };
  const std::string text =
      R"({"x": {"a": 0}, "data": {"a": {"b": [1, {"c": NaN}]}, "d": -Infinity, "NaN\"": "NaN"}, "y": [{"a": 1}]})";
  ASSERT_TRUE(parse_members(text, "data", take));
  EXPECT_EQ(found, R"(a={"b":[1,{"c":"NaN"}]};d="-Infinity";NaN"="NaN";)");
  found.clear();
  ASSERT_TRUE(parse_members(R"({"x": null, "y": [{"a": 1}, 2]})", "", take));
  EXPECT_EQ(found, R"(x=null;y=[{"a":1},2];)");
  for (const char* damaged :
       {"", "[]", "{\"data\": [{\"a\": 1}]}", "{\"data\": {\"a\": ", "{\"data\": {\"a\": 1e999}}"})
    EXPECT_FALSE(parse_members(damaged, "data", take)) << damaged;
}

TEST(Json, NumbersNoDoubleCanHold) {
  const auto document = JsonDocument::parse("c.json", "{\n \"a\": 1,\n \"b\": -1e999}");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code(), Code::config);
  EXPECT_EQ(document.error().message(), "c.json:3:7: not JSON: a number too large for a double");
}

TEST(Text, FixedNumbersAsPython) {
  EXPECT_EQ(format_fixed(0.1234567, 6), "0.123457");
  EXPECT_EQ(format_fixed(-1e-9, 6), "-0.000000");
  EXPECT_EQ(format_fixed(1e20, 3), "100000000000000000000.000");
  EXPECT_EQ(format_fixed(-std::nan(""), 6), "nan");
  EXPECT_EQ(format_fixed(-INFINITY, 6), "-inf");
  EXPECT_EQ(format_fixed(1.7976931348623157e308, 20).size(), 330u);
}

TEST(Json, SyntaxErrorsSayWhere) {
  auto document = JsonDocument::parse("c.json", "{\n  \"a\": 1\n  \"b\": 2\n}");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code(), Code::config);
  EXPECT_EQ(document.error().message().rfind("c.json:3:", 0), 0u) << document.error().message();
}

TEST(Json, KeysThatAreRepeated) {
  const auto document = JsonDocument::parse(
      "c.json", R"({"a": [{"b": 1, "b": 2}, "b", {"b": "\"b\": 3,"}], "b": {}, "\u0061": 1})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->find_repeated_keys(9),
            (std::vector<std::string>{"c.json:1:17: the key \"b\" is repeated; the last one counts",
                                      "c.json:1:61: the key \"\\u0061\" is repeated; the last one counts"}));
  EXPECT_EQ(document->find_repeated_keys(1).size(), 1u);
}

TEST(Json, AZeroByteDoesNotEndADocument) {
  const auto document = JsonDocument::parse("c.json", std::string("{}\n\0{\"a\": \"\0\"}", 14));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message(), "c.json:2:1: not JSON: a zero byte");
}

TEST(Content, IsRecognisedByItsFirstBytes) {
  using namespace std::literals;
  EXPECT_EQ(recognise_content(""), "empty");
  EXPECT_EQ(recognise_content("IMOD\0\0"sv), "an offline model of CANN (.om)");
  EXPECT_EQ(recognise_content("\x80\x04\x95\x20"), "a pickle of Python, which opdump does not run");
  EXPECT_EQ(recognise_content("\x80\x02}q"), "a pickle of Python, which opdump does not run");
  EXPECT_EQ(recognise_content("\x80\x02\0\0\0\0\0\0"sv), "") << "the length of a dump file's header";
  EXPECT_EQ(recognise_content("\x08\x08\x12\x07pytorch"), "an ONNX model (.onnx)");
  EXPECT_EQ(recognise_content("Op Type,Op Name\nconv,\"a\"\n"), "a table as text (CSV)");
  EXPECT_EQ(recognise_content("{\"a\": 1}"), "");
  const auto tell = [](std::string_view text) { return with_content("no", std::as_bytes(std::span(text))); };
  EXPECT_EQ(tell("hello\n"), "no; it is text");
  EXPECT_EQ(tell(" {}"), "no; it is JSON");
  EXPECT_EQ(tell("gr\u00f6\u00dfe"), "no; it is text");
  EXPECT_EQ(tell("\xc8\xc9\xca\xcb\xcc\xcd"), "no") << "no UTF-8";
  EXPECT_EQ(tell("\x93\x01\x7f\x02"), "no");
}

TEST(File, ReplacesWholeFilesAndReportsErrors) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("opdump_file_test" + std::to_string(::getpid()));
  ASSERT_TRUE(make_directories(directory / "a/b", 0700));
  ASSERT_TRUE(make_directories(directory / "a/b", 0700));
  ASSERT_TRUE(write_file_atomic(directory / "a/f", "one", 0600));
  ASSERT_TRUE(write_file_atomic(directory / "a/f", "two", 0600));
  EXPECT_EQ(*read_file(directory / "a/f", 100), "two");
  EXPECT_EQ(read_file(directory / "a/f", 2).error().code(), Code::limit);
  EXPECT_EQ(read_file(directory / "nothing", 2).error().code(), Code::not_found);
  EXPECT_FALSE(make_directories(directory / "a/f/g", 0700));
  auto mapped = MappedFile::open(directory / "a/f");
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->bytes().size(), 3u);
  EXPECT_FALSE(MappedFile::open(directory));
  std::filesystem::remove_all(directory);
}

// Opening a pipe without a writer would wait for ever.
TEST(File, WhatIsNoRegularFileIsRefusedAtOnce) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("opdump_file_test" + std::to_string(::getpid()));
  ASSERT_TRUE(make_directories(directory, 0700));
  const std::filesystem::path pipe = directory / "pipe", link = directory / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, link);
  for (const auto& [path, kind] : {std::pair(pipe, "this is a pipe"), std::pair(link, "this is a pipe"),
                                   std::pair(directory, "this is a directory"),
                                   std::pair(std::filesystem::path("/dev/zero"), "this is a device")}) {
    EXPECT_NE(read_file(path, 100).error().message().find(kind), std::string::npos) << path;
    EXPECT_EQ(MappedFile::open(path).error().code(), Code::io) << path;
    EXPECT_EQ(MappedFile::open_part(path, 0, 1).error().code(), Code::io) << path;
    EXPECT_EQ(open_input(path).error().code(), Code::io) << path;
  }
  EXPECT_EQ(open_input(directory / "nothing").error().code(), Code::not_found);
  std::filesystem::remove_all(directory);
}

TEST(File, IsTheSameMappedAndRead) {
  const auto path =
      std::filesystem::temp_directory_path() / ("opdump_file_test" + std::to_string(::getpid()));
  for (const std::size_t size : {std::size_t{1}, std::size_t{300} << 10, std::size_t{1} << 20}) {
    std::string text(size, 'a');
    text.back() = 'z';
    ASSERT_TRUE(write_file_atomic(path, text, 0600));
    std::vector<MappedFile> files;  // more than one room has place for
    for (int i = 0; i < 40; ++i) {
      auto file = MappedFile::open(path);
      ASSERT_TRUE(file);
      files.push_back(std::move(*file));
    }
    for (const MappedFile& file : files) {
      const auto bytes = file.bytes();
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), text);
    }
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}, size / 2, size - 1, size}) {
      const auto file = MappedFile::open_part(path, size - part, part);
      ASSERT_TRUE(file);
      const auto bytes = file->bytes();
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                std::string_view(text).substr(size - part));
    }
    EXPECT_EQ(MappedFile::open_part(path, size, 1).error().code(), Code::corrupt);
    EXPECT_EQ(MappedFile::open_part(path, 1, UINT64_MAX).error().code(), Code::corrupt);
  }
  std::filesystem::remove(path);
}

TEST(Packing, GivesBackWhatItWasGiven) {
  std::string bytes;
  Packer out(bytes);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, UINT64_MAX})
    out.number(number);
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX})
    out.signed_number(number);
  out.text("");
  out.text(std::string("a\0b", 3));
  out.object(1.5);
  Unpacker in(bytes);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, UINT64_MAX})
    EXPECT_EQ(in.number(), number);
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(in.signed_number(), number);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text(), std::string_view("a\0b", 3));
  EXPECT_EQ(in.object<double>(), 1.5);
  EXPECT_TRUE(in.is_empty());
  EXPECT_TRUE(in.is_ok());
}

TEST(Packing, EndsWhereTheBytesEnd) {
  std::string bytes;
  Packer(bytes).text("abcdef");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Unpacker in(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(in.text(), "");
    EXPECT_FALSE(in.is_ok());
    EXPECT_EQ(in.object<int>(), 0);
    EXPECT_EQ(in.number(), 0u);
  }
  Unpacker endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(endless.number(), 0u);
  EXPECT_FALSE(endless.is_ok());
}

TEST(FileReplacement, IsThereOnceItIsWhole) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("atomic_" + std::to_string(::getpid()));
  const auto text = [&] { return read_file(path, 1 << 20); };
  ASSERT_TRUE(write_file_atomic(path, "old", 0600));
  {
    auto given_up = FileReplacement::begin(path, 0600);
    ASSERT_TRUE(given_up);
    ASSERT_TRUE(given_up->append(std::string(200'000, 'x')));
  }
  EXPECT_EQ(*text(), "old");
  auto file = FileReplacement::begin(path, 0600);
  ASSERT_TRUE(file);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file->append(std::string(50'000, 'a' + i)));
  EXPECT_EQ(*text(), "old");
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(*text(), std::string(50'000, 'a') + std::string(50'000, 'b') + std::string(50'000, 'c'));
  std::filesystem::remove(path);
}

// A name of the user's own choice may be anything; only a file is replaced.
TEST(FileReplacement, WritesThroughWhatIsNoFile) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("opdump_named_" + std::to_string(::getpid()));
  ASSERT_TRUE(make_directories(directory, 0700));
  const std::filesystem::path pipe = directory / "pipe", file = directory / "file";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Fd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(write_named_file(pipe, "to the pipe", 0600));
  char said[32] = {};
  EXPECT_EQ(::read(reader.get(), said, sizeof said), 11);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(write_named_file(directory, "", 0600));

  std::filesystem::create_symlink("file", directory / "link");  // relative, and to nothing yet
  std::filesystem::create_symlink("link", directory / "chain");
  for (const char* const text : {"new", "old"}) {
    ASSERT_TRUE(write_named_file(directory / "chain", text, 0600));
    EXPECT_EQ(*read_file(file, 100), text);
    EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  }
  ASSERT_TRUE(write_file_atomic(directory / "link", "mine", 0600));  // not a name of the user's: replaced
  EXPECT_FALSE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(*read_file(file, 100), "old");

  const std::filesystem::path longest = directory / std::string(NAME_MAX, 'n');
  ASSERT_TRUE(write_file_atomic(longest, "text", 0600));
  EXPECT_EQ(*read_file(longest, 100), "text");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 5);  // nothing temporary
  std::filesystem::remove_all(directory);
}

TEST(PackedTexts, GivesBackWhatItWasGiven) {
  const std::vector<std::string> texts = {"17", "", std::string("a\0b\n", 4), std::string(300, 'x')};
  EXPECT_EQ(PackedTexts(texts).texts(), texts);
  EXPECT_EQ(PackedTexts(texts).front(), "17");
  EXPECT_EQ(PackedTexts().texts(), std::vector<std::string>());
  EXPECT_EQ(PackedTexts().front(), "");
}

}  // namespace
}  // namespace opdump
