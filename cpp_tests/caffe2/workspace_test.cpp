// Workspace: blobs and names in C++. tests/caffe2/workspace_rules.rs has the rules.
#include <memory>
#include <unordered_map>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;
using Names = std::vector<std::string>;
using Mapping = std::unordered_map<std::string, std::string>;

TEST(WorkspaceTest, HasOneObjectForABlob) {
  Workspace ws;
  EXPECT_FALSE(ws.HasBlob("absent"));
  EXPECT_EQ(ws.GetBlob("absent"), nullptr);
  Blob* const blob = ws.CreateBlob("made");
  blob->GetMutable<int>();
  EXPECT_EQ(ws.CreateBlob("made"), blob);
  EXPECT_EQ(static_cast<const Workspace&>(ws).GetBlob("made"), blob);
  EXPECT_TRUE(ws.HasBlob("made") && blob->IsType<int>());
  EXPECT_FALSE(ws.RemoveBlob("absent"));
  EXPECT_TRUE(ws.RemoveBlob("made"));
  EXPECT_FALSE(ws.HasBlob("made"));
}

TEST(WorkspaceTest, SeesItsParentsBlobsUnlessItsOwnHideThem) {
  Workspace parent;
  Blob* const blob = parent.CreateBlob("a");
  Workspace child("folder", &parent);
  EXPECT_EQ(child.CreateBlob("a"), blob);
  EXPECT_NE(child.CreateLocalBlob("a"), blob);
  EXPECT_EQ(parent.GetBlob("a"), blob);
}

TEST(WorkspaceTest, MapsBlobsToOtherNames) {
  Workspace parent, other;
  parent.CreateBlob("a");
  other.CreateBlob("b");
  Workspace child(&parent, Mapping{{"inner_a", "a"}});
  EXPECT_FALSE(child.HasBlob("a"));
  EXPECT_EQ(child.GetBlob("inner_a"), parent.GetBlob("a"));
  child.AddBlobMapping(&other, Mapping{{"inner_b", "b"}});
  EXPECT_EQ(child.GetBlob("inner_b"), other.GetBlob("b"));
  Blob* const own = child.CreateBlob("own");
  EXPECT_THROW(child.AddBlobMapping(&other, Mapping{{"own", "b"}}), EnforceNotMet);
  child.AddBlobMapping(&other, Mapping{{"own", "b"}}, true);
  EXPECT_EQ(child.GetBlob("own"), own);
  EXPECT_THROW(child.AddBlobMapping(nullptr, Mapping()), EnforceNotMet);
}

TEST(WorkspaceTest, ListsLocalBlobsAndAllBlobs) {
  Workspace parent;
  parent.CreateBlob("weights");
  Workspace child(&parent);
  child.CreateBlob("data");
  EXPECT_EQ(child.LocalBlobs(), Names{"data"});
  EXPECT_EQ(child.Blobs(), (Names{"data", "weights"}));
}

TEST(WorkspaceTest, RenamesABlob) {
  Workspace ws;
  Blob* const blob = ws.CreateBlob("old");
  EXPECT_EQ(ws.RenameBlob("old", "new"), blob);
  EXPECT_EQ(ws.Blobs(), Names{"new"});
  EXPECT_THROW(ws.RenameBlob("absent", "other"), EnforceNotMet);
}

TEST(WorkspaceTest, ItsRootFolderIsTheWorkingFolderUnlessOneIsNamed) {
  EXPECT_EQ(Workspace().RootFolder(), ".");
  EXPECT_EQ(Workspace("/data").RootFolder(), "/data");
}

TEST(WorkspaceTest, KeepsItsParentAlive) {
  std::unique_ptr<Workspace> parent(new Workspace());
  *parent->CreateBlob("a")->GetMutable<std::string>() = "still here";
  Workspace child(parent.get());
  parent.reset();
  EXPECT_EQ(child.GetBlob("a")->Get<std::string>(), "still here");
}

TEST(WorkspaceTest, AHeldBlobOutlivesItsRemoval) {
  Workspace ws;
  *ws.CreateBlob("a")->GetMutable<std::string>() = "held";
  const std::shared_ptr<Blob> held = ws.HoldBlob("a");
  EXPECT_TRUE(ws.RemoveBlob("a"));
  EXPECT_EQ(held->Get<std::string>(), "held");
  EXPECT_EQ(ws.HoldBlob("a"), nullptr);
}

TEST(WorkspaceTest, PrintsItsTensorsByTheirSizes) {
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
