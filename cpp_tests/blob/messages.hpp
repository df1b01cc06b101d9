// Hand-written look-alikes of Caffe's messages BlobShape and BlobProto, with the accessors of protoc.
#ifndef BLOB_MESSAGES_HPP
#define BLOB_MESSAGES_HPP

#include <cstdint>
#include <vector>

#define REPEATED_FIELD(type, name)                                              \
 public:                                                                        \
  int name##_size() const { return static_cast<int>(name##_.size()); }          \
  type name(int index) const { return name##_[static_cast<std::size_t>(index)]; } \
  void add_##name(type value) { name##_.push_back(value); }                     \
  void clear_##name() { name##_.clear(); }                                      \
                                                                                \
 private:                                                                       \
  std::vector<type> name##_;

#define OPTIONAL_FIELD(name)                            \
 public:                                                \
  bool has_##name() const { return has_##name##_; }     \
  std::int32_t name() const { return name##_; }         \
  void set_##name(std::int32_t value) {                 \
    name##_ = value;                                    \
    has_##name##_ = true;                               \
  }                                                     \
  void clear_##name() {                                 \
    name##_ = 0;                                        \
    has_##name##_ = false;                              \
  }                                                     \
                                                        \
 private:                                               \
  std::int32_t name##_ = 0;                             \
  bool has_##name##_ = false;

namespace messages {

class BlobShape {
  REPEATED_FIELD(std::int64_t, dim)
};

class BlobProto {
  OPTIONAL_FIELD(num)
  OPTIONAL_FIELD(channels)
  OPTIONAL_FIELD(height)
  OPTIONAL_FIELD(width)
  REPEATED_FIELD(float, data)
  REPEATED_FIELD(float, diff)
  REPEATED_FIELD(double, double_data)
  REPEATED_FIELD(double, double_diff)

 public:
  const BlobShape& shape() const { return shape_; }
  BlobShape* mutable_shape() { return &shape_; }
  void clear_shape() { shape_.clear_dim(); }

 private:
  BlobShape shape_;
};

}  // namespace messages

#undef REPEATED_FIELD
#undef OPTIONAL_FIELD

#endif  // BLOB_MESSAGES_HPP
