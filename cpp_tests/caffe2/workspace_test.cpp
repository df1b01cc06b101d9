// Workspace: the tests of Caffe2 by their names, its rules, and what is not copied of it.
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;
using Names = std::vector<std::string>;
using Mapping = std::unordered_map<std::string, std::string>;

class Foo {};

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

TEST(WorkspaceTest, BlobAccess) {
  Workspace ws;
  EXPECT_FALSE(ws.HasBlob("absent"));
  EXPECT_EQ(ws.GetBlob("absent"), nullptr);
  EXPECT_EQ(ws.GetBlob("made"), nullptr);
  EXPECT_NE(ws.CreateBlob("made"), nullptr);
  EXPECT_NE(ws.GetBlob("made"), nullptr);
  EXPECT_TRUE(ws.HasBlob("made"));
  EXPECT_FALSE(ws.HasBlob("absent"));

  Blob* blob = ws.GetBlob("made");
  blob->GetMutable<int>();
  EXPECT_TRUE(blob->IsType<int>());
  EXPECT_FALSE(blob->IsType<Foo>());
  EXPECT_EQ(&blob->Get<int>(), blob->GetRaw());
  // Making it again changes nothing.
  EXPECT_EQ(ws.CreateBlob("made"), blob);
  EXPECT_TRUE(blob->IsType<int>());

  EXPECT_FALSE(ws.RemoveBlob("absent"));
  EXPECT_TRUE(ws.RemoveBlob("made"));
  EXPECT_FALSE(ws.HasBlob("made"));
}

TEST(WorkspaceTest, Sharing) {
  Workspace parent;
  EXPECT_FALSE(parent.HasBlob("a"));
  EXPECT_TRUE(parent.CreateBlob("a"));
  EXPECT_TRUE(parent.GetBlob("a"));
  Workspace child(&parent);
  EXPECT_TRUE(child.HasBlob("a"));
  EXPECT_TRUE(child.GetBlob("a"));
  EXPECT_FALSE(child.HasBlob("b"));
  EXPECT_FALSE(child.GetBlob("b"));
  EXPECT_TRUE(child.CreateBlob("b"));
  EXPECT_TRUE(child.GetBlob("b"));
  EXPECT_FALSE(parent.GetBlob("b"));
  EXPECT_FALSE(parent.HasBlob("b"));
  // One name, two blobs: the child's hides the parent's.
  EXPECT_TRUE(parent.CreateBlob("b"));
  EXPECT_NE(child.GetBlob("b"), parent.GetBlob("b"));
  EXPECT_TRUE(child.CreateBlob("a"));
  EXPECT_EQ(child.GetBlob("a"), parent.GetBlob("a"));
  EXPECT_TRUE(child.CreateLocalBlob("a"));
  EXPECT_NE(child.GetBlob("a"), parent.GetBlob("a"));
}

TEST(WorkspaceTest, BlobMapping) {
  Workspace parent;
  EXPECT_TRUE(parent.CreateBlob("a"));
  Workspace child(&parent, Mapping{{"inner_a", "a"}});
  EXPECT_FALSE(child.HasBlob("a"));
  EXPECT_TRUE(child.HasBlob("inner_a"));
  EXPECT_EQ(child.GetBlob("inner_a"), parent.GetBlob("a"));
  Workspace other;
  EXPECT_TRUE(other.CreateBlob("b"));
  child.AddBlobMapping(&other, Mapping{{"inner_b", "b"}});
  EXPECT_FALSE(child.HasBlob("b"));
  EXPECT_TRUE(child.HasBlob("inner_b"));
  EXPECT_EQ(child.GetBlob("inner_b"), other.GetBlob("b"));
}

TEST(WorkspaceRules, ListsLocalBlobsAndAllBlobs) {
  Workspace parent;
  parent.CreateBlob("weights");
  Workspace child(&parent);
  child.CreateBlob("data");
  EXPECT_EQ(child.LocalBlobs(), Names{"data"});
  EXPECT_EQ(sorted(child.Blobs()), (Names{"data", "weights"}));
}

TEST(WorkspaceRules, RenamesALocalBlobToANameThatIsVisibleNowhere) {
  Workspace parent;
  parent.CreateBlob("taken");
  Workspace child(&parent);
  Blob* const blob = child.CreateBlob("old");
  *blob->GetMutable<int>() = 4;
  EXPECT_EQ(child.RenameBlob("old", "new"), blob);
  EXPECT_FALSE(child.HasBlob("old"));
  EXPECT_EQ(child.GetBlob("new")->Get<int>(), 4);
  EXPECT_THROW(child.RenameBlob("new", "taken"), EnforceNotMet);
  EXPECT_THROW(child.RenameBlob("absent", "other"), EnforceNotMet);
  EXPECT_THROW(child.RenameBlob("taken", "other"), EnforceNotMet);
}

TEST(WorkspaceRules, ItsRootFolderIsTheWorkingFolderUnlessOneIsNamed) {
  EXPECT_EQ(Workspace().RootFolder(), ".");
  EXPECT_EQ(Workspace("/data").RootFolder(), "/data");
}

TEST(WorkspaceNotCopied, KeepsItsParentAlive) {
  std::unique_ptr<Workspace> parent(new Workspace());
  *parent->CreateBlob("a")->GetMutable<std::string>() = "still here";
  Workspace child(parent.get());
  parent.reset();
  EXPECT_EQ(child.GetBlob("a")->Get<std::string>(), "still here");
}

TEST(WorkspaceNotCopied, AHeldBlobOutlivesItsRemoval) {
  Workspace ws;
  *ws.CreateBlob("a")->GetMutable<std::string>() = "held";
  const std::shared_ptr<Blob> held = ws.HoldBlob("a");
  EXPECT_TRUE(ws.RemoveBlob("a"));
  EXPECT_EQ(held->Get<std::string>(), "held");
  EXPECT_EQ(ws.HoldBlob("a"), nullptr);
}

TEST(WorkspaceNotCopied, PrintsItsTensorsByTheirSizes) {
  Workspace ws;
  ws.CreateBlob("small")->GetMutable<TensorCPU>()->Resize(1);
  ws.GetBlob("small")->GetMutable<TensorCPU>()->mutable_data<float>();
  ws.CreateBlob("large")->GetMutable<TensorCPU>()->Resize(3, 1);
  ws.GetBlob("large")->GetMutable<TensorCPU>()->mutable_data<float>();
  *ws.CreateBlob("text")->GetMutable<std::string>() = "no tensor";
  testing::internal::CaptureStderr();
  ws.PrintBlobSizes();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "---- Workspace blobs: ----\nname;current shape;capacity bytes;percentage\n"
            "large;3,1,;12;75%\nsmall;1,;4;25%\nTotal;;16;100%\n");
}

}  // namespace
