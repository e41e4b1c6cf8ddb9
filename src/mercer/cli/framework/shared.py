"""Parameters that several verbs take."""

__all__ = [
    "BITS",
    "BOXES",
    "BOX_LABEL",
    "CLASS_FOLDER",
    "C_OR_AUTO",
    "DATA",
    "DENSE",
    "DETECTOR",
    "DIR",
    "IDS",
    "IMAGES",
    "IMAGE_MODEL",
    "KEEP",
    "KERNEL_PARAM",
    "LABELS",
    "LEARNER_MODEL",
    "MAP_KERNEL",
    "MAP_PARAM",
    "MATCHES_FORMAT",
    "MATCHES_OUT",
    "MODEL_OUT",
    "OUT_FORMAT",
    "PHOTOS",
    "PROBA",
    "PROJECT",
    "SCORES",
    "STRICT",
    "TABLE",
]

from mercer._base.parameters import REQUIRED, argument, choice, flag, integer, number, pathname, text, texts

DATA = argument("x", "DATA", "Rows: a file, FILE.npz::NAME, or - for standard input.")
DIR = argument("place", "DIR", "Directory of the index.")
STRICT = flag("strict", "Stop if an image cannot be read, instead of skipping it with a warning.")
MODEL_OUT = pathname("out", REQUIRED, "Model file to write.", "FILE", "-o")
BITS = integer("bits", None, "Bits per code, for a model with several rates.", shown="the largest", least=1)
LABELS = text("labels", None, "File with one label per row of DATA: npy, FILE.npz::NAME, or one column of csv, tsv "
    "or parquet.", "FILE", panel="Input")  # fmt: skip
IMAGES = argument("files", "FILES...", "Images, or folders of images.", kind=list)
IMAGE_MODEL = argument("model", "MODEL", "Model file written by mercer images train.")
OUT_FORMAT = choice("out_format", "npy npz csv tsv", None, "Format of --out.", "FORMAT", shown="by suffix; csv for -")
DETECTOR = argument("model", "MODEL", "Model file written by mercer detect train.")
PHOTOS = pathname("images", REQUIRED, "Folder of images, with and without objects.", "DIR")
BOXES = pathname("boxes", REQUIRED, "Boxes: a csv file, PASCAL VOC XML (a file or folder), or COCO JSON.")
BOX_LABEL = text("label", None, "Kind of object to use, if the boxes have several.")
CLASS_FOLDER = argument("folder", "FOLDER", "Folder with one subfolder of images per class.")
SCORES = flag("scores", "Output the score of each class instead of the label.")
PROBA = flag("proba", "Output the probability of each class instead of the label.")
IDS = text("ids", None, "File of row ids: one per line, or npy. Use --id for a column of DATA.",
    "FILE", shown="consecutive numbers")  # fmt: skip
KEEP = text("keep", None, "Columns of DATA to store with the rows for --where, by name; they are not used as "
    "features.", "A,B,...")  # fmt: skip
MATCHES_OUT = text("out", None, "File for the results (csv, tsv, json, parquet, npz, npy); - is standard "
    "output.", "FILE",
    "-o")  # fmt: skip
MATCHES_FORMAT = OUT_FORMAT.but(words=("csv", "tsv", "json", "parquet", "npz", "npy"))
MAP_KERNEL = text("kernel", None, "Kernel, by a name that `mercer kernel` lists.", "NAME", "-k", shown="the map's own")
MAP_PARAM = texts("param", None, "Parameter of the map, or of its kernel as kernel__NAME; may be repeated.",
    "NAME=VALUE", "-p")  # fmt: skip
KERNEL_PARAM = texts("param", None, "Parameter of the kernel; may be repeated.", "NAME=VALUE", "-p")
PROJECT = integer("project", None, "Project the features at random to N columns.", least=1)
DENSE = flag("dense", "Write sparse features as dense rows.")
LEARNER_MODEL = argument("model", "MODEL", "Model file written by mercer fit or mercer wire fit.")
C_OR_AUTO = number(
    "C",
    "auto",
    "Weight of the losses against the regularizer; auto cross-validates.",
    "NUMBER|auto",
    above=0,
    words=("auto",),
)
TABLE = text("table", None, "Table or collection that holds the index.", "NAME", "--table --collection", panel="Store")
