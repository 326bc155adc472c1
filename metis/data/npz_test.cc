#include "metis/data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void Append(Bytes& bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8) bytes.push_back(static_cast<uint8_t>(value));
}
void Append(Bytes& bytes, std::string_view text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

template <typename T>
Bytes Npy(std::string_view type, std::string_view shape, const std::vector<T>& values,
          std::string_view order = "False", uint8_t version = 1) {
  std::string dictionary =
      Text("{'descr': '", type, "', 'fortran_order': ", order, ", 'shape': ", shape, ", }\n");
  Bytes bytes;
  Append(bytes, "\x93NUMPY");
  Append(bytes, version, 2);
  Append(bytes, dictionary.size(), version == 1 ? 2 : 4);
  Append(bytes, dictionary);
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(values.data());
  bytes.insert(bytes.end(), begin, begin + values.size() * sizeof(T));
  return bytes;
}

Bytes Deflate(const Bytes& bytes) {
  Bytes out(bytes.size() + 100);
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// An archive as numpy.savez writes it.
Bytes Zip(const std::vector<std::pair<std::string, Bytes>>& members, bool deflated) {
  Bytes archive, directory;
  for (const auto& [name, content] : members) {
    Bytes packed = deflated ? Deflate(content) : content;
    Bytes fields;  // what local header and directory have in common
    for (uint64_t field : {20u, 0u, deflated ? 8u : 0u, 0u, 0u}) Append(fields, field, 2);
    Append(fields, crc32(0, content.data(), static_cast<uInt>(content.size())), 4);
    Append(fields, packed.size(), 4);
    Append(fields, content.size(), 4);
    Append(fields, name.size(), 2);
    Append(fields, 0, 2);
    Append(directory, 0x02014b50, 4);
    Append(directory, 20, 2);
    directory.insert(directory.end(), fields.begin(), fields.end());
    Append(directory, 0, 10);
    Append(directory, archive.size(), 4);
    Append(directory, name);
    Append(archive, 0x04034b50, 4);
    archive.insert(archive.end(), fields.begin(), fields.end());
    Append(archive, name);
    archive.insert(archive.end(), packed.begin(), packed.end());
  }
  const size_t begin = archive.size();
  archive.insert(archive.end(), directory.begin(), directory.end());
  Append(archive, 0x06054b50, 4);
  Append(archive, 0, 4);
  Append(archive, members.size(), 2);
  Append(archive, members.size(), 2);
  Append(archive, directory.size(), 4);
  Append(archive, begin, 4);
  Append(archive, 0, 2);
  return archive;
}

const Bytes kLabels = Npy<int64_t>("<i8", "(3,)", {2, 0, 2});

class NpzFiles : public FileTest {
 protected:
  Result<Dataset> Read(const Bytes& x, const Bytes& y, bool deflated = false,
                       NpzOptions options = {}) const {
    return ReadNpz(Write("data.npz", Zip({{"x.npy", x}, {"y.npy", y}}, deflated)), options);
  }
  std::string Refusal(const Bytes& x, const Bytes& y, NpzOptions options = {}) const {
    Result<Dataset> set = Read(x, y, false, options);
    return set ? "read" : set.error().message;
  }
};

TEST_F(NpzFiles, StoredAndDeflatedGiveTheSame) {
  for (bool deflated : {false, true}) {
    Result<Dataset> set =
        Read(Npy<uint8_t>("|u1", "(3, 1, 2)", {1, 2, 3, 4, 5, 6}), kLabels, deflated);
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(set->shape(), (Shape{1, 1, 2}));
    EXPECT_THAT(set->class_counts(), ElementsAre(1, 0, 2));
    EXPECT_THAT(set->Pixels(1), ElementsAre(3, 4));
  }
}

TEST_F(NpzFiles, ChannelsMayComeLastOrFirst) {
  std::vector<uint8_t> values(3 * 2 * 1 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
  Result<Dataset> last = Read(Npy("|u1", "(3, 2, 1, 3)", values), kLabels);
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(last->shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(last->Pixels(1), ElementsAre(6, 9, 7, 10, 8, 11));
  Result<Dataset> first = Read(Npy("|u1", "(3, 3, 1, 2)", values), kLabels);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first->Pixels(1), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST_F(NpzFiles, OtherTypesAreFeatures) {
  for (const Bytes& x : {Npy<float>("<f4", "(3, 2)", {1, 2, 3, -4, 5, 6}, "False", 2),
                         Npy<double>("<f8", "(3, 2)", {1, 2, 3, -4, 5, 6}),
                         Npy<int32_t>("<i4", "(3, 2)", {1, 2, 3, -4, 5, 6}),
                         Npy<int64_t>("<i8", "(3, 2)", {1, 2, 3, -4, 5, 6})}) {
    Result<Dataset> set = Read(x, Npy<uint8_t>("|u1", "(3, 1)", {1, 0, 1}));
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_THAT(set->Features(1), ElementsAre(3, -4));
  }
}

TEST_F(NpzFiles, WhatCannotBeReadIsNamed) {
  const Bytes x = Npy<uint8_t>("|u1", "(3, 2)", {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Refusal(Npy<float>(">f4", "(3, 1)", {1, 2, 3}), kLabels),
              HasSubstr("data.npz: member x.npy: offset 10: type >f4 is big-endian"));
  EXPECT_THAT(Refusal(Npy<uint8_t>("|u1", "(3, 2)", {1, 2, 3, 4, 5, 6}, "True"), kLabels),
              HasSubstr("Fortran order"));
  EXPECT_THAT(Refusal(Npy<int16_t>("<i2", "(3, 1)", {1, 2, 3}), kLabels), HasSubstr("type <i2"));
  EXPECT_THAT(Refusal(x, Npy<double>("<f8", "(3,)", {1, 2, 3})), HasSubstr("y holds floats"));
  EXPECT_THAT(Refusal(x, Npy<int64_t>("<i8", "(2,)", {1, 2})),
              HasSubstr("2 labels for 3 examples"));
  EXPECT_THAT(Refusal(x, Npy<int32_t>("<i4", "(3,)", {1, -2, 0})),
              HasSubstr("label -2 of example 1"));
  EXPECT_THAT(Refusal(x, kLabels, {.classes = 2}), HasSubstr("member y.npy: offset"));
  EXPECT_THAT(Refusal(Npy<uint8_t>("|u1", "(3, 1099511627776, 4294967296)", {1}), kLabels),
              HasSubstr("don't fit"));
  EXPECT_THAT(Refusal(Npy<uint8_t>("|u1", "(3, 2)", {1, 2}, "False", 3), kLabels),
              HasSubstr("offset 6: .npy version 3"));
  Result<Dataset> set = ReadNpz(Write("other.npz", Zip({{"a.npy", x}}, false)));
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("no array x (the archive holds: a.npy)"));
}

TEST_F(NpzFiles, EveryTruncationIsRefused) {
  const Bytes x = Npy<uint8_t>("|u1", "(3, 2)", {1, 2, 3, 4, 5, 6});
  const Bytes whole = Zip({{"x.npy", x}, {"y.npy", kLabels}}, true);
  for (size_t size = 0; size < whole.size(); ++size) {
    Result<Dataset> set = ReadNpz(
        Write("cut.npz", Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))));
    ASSERT_FALSE(set) << size;
    EXPECT_THAT(set.error().message, HasSubstr("cut.npz: offset "));
  }
}

TEST_F(NpzFiles, DamageIsNeverACrash) {
  const Bytes x = Npy<float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6});
  auto read = [&](const Bytes& bytes) { return ReadNpz(Write("damaged.npz", bytes)); };
  for (bool deflated : {false, true}) {
    ExpectSurvivesDamage(Zip({{"x.npy", x}, {"y.npy", kLabels}}, deflated), 1500, read);
  }
  // Behind the checksum: headers of arrays that were written wrong.
  ExpectSurvivesDamage(x, 1500, [&](const Bytes& bytes) { return Read(bytes, kLabels); });
}

}  // namespace
}  // namespace metis::data
