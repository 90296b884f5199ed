package objectstore

import (
	"encoding/xml"
	"reflect"
	"testing"
	"time"
)

// TestListing compares what is read of a list with what xml.Unmarshal reads.
func TestListing(t *testing.T) {
	t.Parallel()
	const object = "<Contents><Key>a/b &amp; c</Key><LastModified>2024-05-06T07:08:09.123Z</LastModified><ETag>&quot;x&quot;</ETag><Size>12</Size>" +
		"<Owner><ID>1</ID><Size>9</Size></Owner><StorageClass>STANDARD</StorageClass></Contents>"
	for name, text := range map[string]string{
		"none":     `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><IsTruncated>false</IsTruncated></ListBucketResult>`,
		"objects":  "<ListBucketResult>\n  <IsTruncated> true </IsTruncated>\n" + object + "\n<!-- c -->" + object + "<CommonPrefixes><Prefix>p</Prefix></CommonPrefixes></ListBucketResult>\n",
		"parts":    "<ListBucketResult><Contents><Key>a<![CDATA[<b>]]>c&#x41;</Key><Size>1</Size></Contents></ListBucketResult>",
		"zero":     "<ListBucketResult><IsTruncated/><Contents><Key/><Size></Size></Contents></ListBucketResult>",
		"other":    "<Error><Code>x</Code></Error>",
		"empty":    "",
		"text":     "no XML",
		"cut":      "<ListBucketResult><Contents><Key>a</Key>",
		"crossed":  "<ListBucketResult><Contents></ListBucketResult></Contents>",
		"size":     "<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
		"time":     "<ListBucketResult><Contents><LastModified>x</LastModified></Contents></ListBucketResult>",
		"boolean":  "<ListBucketResult><IsTruncated>x</IsTruncated></ListBucketResult>",
		"trailing": "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult><more",
	} {
		var want struct {
			XMLName     xml.Name `xml:"ListBucketResult"`
			IsTruncated bool
			Contents    []struct {
				Key          string
				Size         int64
				LastModified time.Time
			}
		}
		bad := xml.Unmarshal([]byte(text), &want)
		got, err := readListing([]byte(text))
		if (err == nil) != (bad == nil) {
			t.Errorf("%s: %v, xml.Unmarshal says %v", name, err, bad)
		}
		if bad != nil {
			continue
		}
		var objects []Object
		for _, o := range want.Contents {
			objects = append(objects, Object{o.Key, o.Size, o.LastModified})
		}
		if got.truncated != want.IsTruncated || !reflect.DeepEqual(got.objects, objects) {
			t.Errorf("%s: %+v, xml.Unmarshal reads %+v", name, got, want)
		}
	}
}
