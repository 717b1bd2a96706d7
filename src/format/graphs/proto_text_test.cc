#include "format/graphs/proto_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace opdump::format {
namespace {

using testing::HasSubstr;

ProtoMessage parse(std::string_view text) {
  auto message = parse_proto_text(text);
  EXPECT_TRUE(message) << (message ? "" : message.error().message());
  return message ? std::move(*message) : ProtoMessage();
}

std::string error_of(std::string_view text) {
  const auto message = parse_proto_text(text);
  EXPECT_FALSE(message) << text;
  return message ? "" : message.error().message();
}

TEST(ProtoText, HasFieldsOfThreeKinds) {
  const ProtoMessage message = parse("name: \"a\"\nop {\n  id: -5\n  f: 1e-05\n}\nlayout: DT_FLOAT\n");
  ASSERT_EQ(message.size(), 3u);
  EXPECT_EQ(message[0], proto_string("name", "a"));
  EXPECT_EQ(message[1], proto_message("op", {proto_number("id", -5), proto_word("f", "1e-05")}));
  EXPECT_EQ(message[2], proto_word("layout", "DT_FLOAT"));
  EXPECT_EQ(message[1].fields[0].line, 3u);
}

TEST(ProtoText, IsPrintedAsItWasRead) {
  const std::string text =
      "op {\n  s: \"a\\n\\r\\t\\\"\\'\\\\b\\000\\010\\177\\377\"\n  empty {\n  }\n}\nb: true\n";
  EXPECT_EQ(print_proto_text(parse(text)), text);
}

TEST(ProtoText, AllSpellingsOfTheLanguage) {
  const ProtoMessage plain = parse("a { b: 1 } a { b: 2 } c: 1 c: 2 s: \"xyz\"");
  EXPECT_EQ(parse("a: < b: 1; >, a: { b: 2, } # comment\nc: [1, 2] s: 'x' \"y\"\n 'z'"), plain);
  EXPECT_EQ(parse("a [{ b: 1 }, { b: 2 }] c: 1 c: 2 s: \"\\x78\\171\\u007a\" e: []"), plain);
  EXPECT_EQ(parse("s: \"\\u00e9\\u20AC\\U0001F600\\?\""),
            parse("s: \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80?\""));
  EXPECT_EQ(parse("[a.b.c] { x: inf }")[0].name, "[a.b.c]");
  EXPECT_TRUE(parse(" # nothing").empty());
}

TEST(ProtoText, ErrorsNameThePlace) {
  EXPECT_EQ(error_of("a: 1\n  b 2"), "2:5: expected : or { after b");
  EXPECT_EQ(error_of("a {\n b: 1\n"), "3:1: the text ends; expected }");
  EXPECT_EQ(error_of("a: 1 }"), "1:6: expected the name of a field");
  EXPECT_THAT(error_of("a: \"x\ny\""), HasSubstr("does not end in its line"));
  EXPECT_THAT(error_of("a: \"x"), HasSubstr("does not end in its line"));
  EXPECT_THAT(error_of("a: \"\\"), HasSubstr("escape"));
  EXPECT_THAT(error_of("a: \"\\q\""), HasSubstr("escape"));
  EXPECT_THAT(error_of("a: \"\\u12\""), HasSubstr("escape"));
  EXPECT_THAT(error_of("a: \"\\UFFFFFFFF\""), HasSubstr("escape"));
  EXPECT_THAT(error_of("a: [1 2]"), HasSubstr("expected , or ]"));
  EXPECT_THAT(error_of("a: [1"), HasSubstr("expected , or ]"));
  EXPECT_THAT(error_of("[a.b"), HasSubstr("expected ]"));
  EXPECT_THAT(error_of("a:"), HasSubstr("expected a value for a"));
  EXPECT_THAT(error_of(std::string("a: 1\0b", 6)), HasSubstr("name of a field"));
}

TEST(ProtoText, DepthIsBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "a{";
    return text.append(depth, '}');
  };
  EXPECT_EQ(parse(nested(kMaxProtoTextDepth)).size(), 1u);
  const auto deeper = parse_proto_text(nested(kMaxProtoTextDepth + 1));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code(), Code::limit);
  EXPECT_FALSE(parse_proto_text(std::string(1 << 20, '{')));
}

}  // namespace
}  // namespace opdump::format
