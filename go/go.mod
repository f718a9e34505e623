module anabranch

go 1.19
